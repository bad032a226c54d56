// What an agent of protocol keys with "agent": "line" needs, in one file: copy it beside your agent. For Node 18 or newer.

// Yields each step of the task: its instruction, its screen, and its number from 1 on as step.
export async function* steps() {
  process.stdin.setEncoding("utf8");
  let rest = "";
  for await (const chunk of process.stdin) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim()) yield JSON.parse(line);
  }
  if (rest.trim()) yield JSON.parse(rest);
}

// Returns a command: text, such as "ls\n", or the name of one key, such as "C-c"; then a wait in seconds.
export const keys = (keystrokes, duration = 1) => ({ keystrokes, duration });

// Answers a step. The task ends with the second answer in a row that says it is done.
export function respond(analysis, plan = "", commands = [], done = false) {
  process.stdout.write(JSON.stringify({ analysis, plan, commands, task_complete: done }) + "\n");
}
