#!/usr/bin/env node
// An agent of protocol keys without a model: it does the task in the shell and looks at the screen.
import { keys, respond, steps } from "./keys.mjs";

for await (const { screen, step } of steps()) {
  if (step === 1) respond("A prompt.", "I write a file.", [keys("echo by node > made; cat made\n", 0.5)]);
  else if (step === 2 && !screen.includes("by node")) respond("Nothing yet.", "I wait.", [keys("", 2)]);
  else respond("The file is written.", "", [], true);
}
