#!/usr/bin/env node
// A nanobot micro-agent: one JSON line comes in on stdin, frames go out on stdout.
import { text as readAll } from "node:stream/consumers";

const frame = (type, text, more = {}) => process.stdout.write(JSON.stringify({ type, text, ...more }) + "\n");

const envelope = JSON.parse(await readAll(process.stdin));
const files = envelope.media ?? [];

frame("progress", "Thinking...");

// Your work goes here. envelope.user_data_dir is a folder for what this chat should remember.
let answer = `You said: ${envelope.text}`;
if (files.length > 0) answer += `\nand sent ${files.length} file(s)`;

// A message may carry files: frame("message", "Look:", { media: ["/absolute/path.png"] })
frame("message", answer);
