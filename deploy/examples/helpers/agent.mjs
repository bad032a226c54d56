#!/usr/bin/env node
import * as nanobot from "./nanobot.mjs";

const envelope = (await nanobot.read()) ?? {};
const { text = "" } = envelope;
if (text === "stream") {
  nanobot.delta("One, ");
  nanobot.delta("two.");
} else if (text === "ask") {
  const answer = await nanobot.ask("Which one?", "Red", "Blue");
  nanobot.message(answer ? `You chose ${answer}.` : "Nobody has answered.");
} else if (text === "fail") {
  nanobot.error("You told me to fail.", "TOLD");
} else {
  nanobot.progress("Thinking...");
  nanobot.message(`You said: ${text}`, ...nanobot.files(envelope));
}
