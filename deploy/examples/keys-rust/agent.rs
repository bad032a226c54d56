//! An agent of protocol keys without a model: it does the task in the shell and looks at the screen.
mod keys;
use keys::{done, keys, respond, Command};

fn main() -> std::io::Result<()> {
    keys::run(|s| match s.step {
        1 => {
            let name = if s.instruction.is_empty() { "nobody" } else { "rust" };
            let write: Command = keys(format!("echo by {name} > made; cat made\n"), 0.5);
            respond("A prompt.", "I write a file.", vec![write])
        }
        2 if !s.screen.contains("by rust") => respond("Nothing yet.", "I wait.", vec![keys("", 2.0)]),
        _ => done("The file is written."),
    })
}
