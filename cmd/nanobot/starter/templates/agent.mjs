#!/usr/bin/env node
// A nanobot micro-agent. nanobot.mjs reads what the person has sent, and prints what they see.
import * as nanobot from "./nanobot.mjs";

const envelope = await nanobot.read();
const files = nanobot.files(envelope);
nanobot.progress("Thinking...");

// Your work goes here. envelope.user_data_dir is a folder for what this chat should remember.
let answer = `You said: ${envelope.text}`;
if (files.length > 0) answer += `\nand sent ${files.length} file(s)`;

// A message may carry files: nanobot.message("Look:", "/absolute/path.png")
nanobot.message(answer);
