#!/usr/bin/env node
// Reads stdin to its end: nanobot writes one line and closes it.
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const envelope = JSON.parse(Buffer.concat(chunks).toString()); // whole, so that no letter is cut in two

const say = (type, text) => process.stdout.write(JSON.stringify({ type, text }) + "\n"); // nothing to flush in Node

say("progress", "Thinking...");
say("message", `You said: ${envelope.text}`);

// No process.exit() here: it would drop what is still on its way out. Node ends by itself.
