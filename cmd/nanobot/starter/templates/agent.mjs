#!/usr/bin/env node
// A nanobot micro-agent. nanobot.mjs reads what the person has sent, and prints what they see.
import * as nanobot from "./nanobot.mjs";

const { text, media = [] } = await nanobot.read();
nanobot.progress("Thinking...");

// Your work goes here. The envelope's user_data_dir is a folder for what this chat should remember.
let answer = `You said: ${text}`;
if (media.length > 0) answer += `\nand sent ${media.length} file(s)`;

// A message may carry files: nanobot.message("Look:", "/absolute/path.png")
nanobot.message(answer);
