//! What an agent of protocol keys with "agent": "line" needs, in one file without a crate: copy it beside your agent.

use std::io::{self, BufRead, Write};

/// One step of the task: what the terminal shows, and its number from 1 on.
#[derive(Debug, Default)]
pub struct Step {
    pub instruction: String,
    pub screen: String,
    pub step: u64,
}

/// Text, such as "ls\n", or the name of one key, such as "C-c"; then a wait in seconds.
pub struct Command {
    keystrokes: String,
    duration: f64,
}

pub fn keys(keystrokes: impl Into<String>, duration: f64) -> Command {
    Command { keystrokes: keystrokes.into(), duration }
}

/// Answers a step. The task ends with the second one in a row that says it is done.
pub struct Response {
    analysis: String,
    plan: String,
    commands: Vec<Command>,
    done: bool,
}

pub fn respond(analysis: impl Into<String>, plan: impl Into<String>, commands: Vec<Command>) -> Response {
    Response { analysis: analysis.into(), plan: plan.into(), commands, done: false }
}

pub fn done(analysis: impl Into<String>) -> Response {
    Response { done: true, ..respond(analysis, "", vec![]) }
}

/// Answers each step until there are no more.
pub fn run(mut answer: impl FnMut(Step) -> Response) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if line.trim().is_empty() {
            continue;
        }
        let step = parse(&line).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line is not a JSON object"))?;
        writeln!(out, "{}", print(&answer(step)))?;
        out.flush()?;
    }
    Ok(())
}

fn print(r: &Response) -> String {
    let commands: Vec<String> = r.commands.iter().map(|c| {
        let duration = if c.duration.is_finite() { c.duration } else { 1.0 };
        format!("{{\"keystrokes\":{},\"duration\":{}}}", quote(&c.keystrokes), duration)
    }).collect();
    format!("{{\"analysis\":{},\"plan\":{},\"commands\":[{}],\"task_complete\":{}}}",
        quote(&r.analysis), quote(&r.plan), commands.join(","), r.done)
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Reads a JSON object of strings and numbers. Values of other types are skipped.
fn parse(line: &str) -> Option<Step> {
    let mut step = Step::default();
    let mut rest = line.trim().strip_prefix('{')?.trim_start();
    while !rest.starts_with('}') {
        let (key, after) = string(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        if rest.starts_with('"') {
            let (value, after) = string(rest)?;
            match key.as_str() {
                "instruction" => step.instruction = value,
                "screen" => step.screen = value,
                _ => {}
            }
            rest = after;
        } else {
            let end = skip(rest)?;
            if key == "step" {
                step.step = rest[..end].trim().parse().ok()?;
            }
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
    Some(step)
}

/// Returns where a value ends: before the comma or bracket that does not belong to it.
fn skip(text: &str) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    loop {
        match text.as_bytes().get(at)? {
            b'"' => {
                at = text.len() - string(&text[at..])?.1.len();
                continue;
            }
            b'{' | b'[' => depth += 1,
            b',' | b'}' if depth == 0 => return Some(at),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// Reads a string at the beginning of a text, and returns what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let mut units: Vec<u16> = vec![]; // escapes are UTF-16
    let mut chars = text.strip_prefix('"')?.chars();
    loop {
        match chars.next()? {
            '"' => return Some((String::from_utf16_lossy(&units), chars.as_str())),
            '\\' => units.push(match chars.next()? {
                'n' => 10,
                't' => 9,
                'r' => 13,
                'b' => 8,
                'f' => 12,
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    u16::from_str_radix(&digits, 16).ok()?
                }
                c => c as u16,
            }),
            c => units.extend(c.encode_utf16(&mut [0; 2]).iter()),
        }
    }
}
