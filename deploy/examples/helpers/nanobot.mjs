// What an agent of protocol rich needs, in one file: copy it beside your agent. For Node 18 or newer.
import { existsSync } from "node:fs";

export const later = []; // what the person has written during the turn, see "inject" in docs/protocol.md

process.stdin.setEncoding("utf8");
const chunks = process.stdin[Symbol.asyncIterator]();
let buffered = "";

// Returns the next line of nanobot, first the envelope; null at the end. Node does not wait for stdin in between.
export async function read() {
  process.stdin.ref?.();
  try {
    for (let from = 0; ; ) {
      const end = buffered.indexOf("\n", from);
      if (end >= 0) {
        const line = buffered.slice(0, end);
        buffered = buffered.slice(end + 1);
        return JSON.parse(line);
      }
      from = buffered.length;
      const { value, done } = await chunks.next();
      if (done) {
        const rest = buffered.trim();
        buffered = "";
        return rest ? JSON.parse(rest) : null;
      }
      buffered += value;
    }
  } finally {
    process.stdin.unref?.();
  }
}

// Returns the paths of the person's files that are still there.
export const files = ({ media = [] }) => media.filter((path) => existsSync(path));

export function frame(type, text, more = {}) {
  process.stdout.write(JSON.stringify({ type, text, ...more }) + "\n");
}

export const progress = (text) => frame("progress", text);

// Writes the next piece of a message.
export const delta = (text) => frame("delta", text);

// Sends a message with files, such as message("Look:", "/absolute/path.png").
export const message = (text, ...files) => frame("message", text, files.length > 0 ? { media: files } : {});

// Reports an error, which is the last message of the turn: return after it. process.exit() would lose output.
export function error(text, code, status = 1) {
  frame("error", text, code ? { code } : {});
  process.exitCode = status;
}

let asked = 0;

// Asks the person, and returns the answer; null: nobody has answered. It needs "interactive": true.
export async function ask(text, ...options) {
  const id = `q${++asked}`;
  frame("ask", text, options.length > 0 ? { id, options } : { id });
  for (let line; (line = await read()) !== null; later.push(line)) {
    if (line.type === "answer" && line.id === id) return line.error ? null : line.text;
  }
  return null;
}
