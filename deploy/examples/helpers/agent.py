#!/usr/bin/env python3
import nanobot

envelope = nanobot.read() or {}
text = envelope.get("text", "")
if text == "stream":
    nanobot.delta("One, ")
    nanobot.delta("two.")
elif text == "ask":
    answer = nanobot.ask("Which one?", "Red", "Blue")
    nanobot.message(f"You chose {answer}." if answer else "Nobody has answered.")
elif text == "fail":
    nanobot.error("You told me to fail.", "TOLD")
else:
    nanobot.progress("Thinking...")
    nanobot.message(f"You said: {text}", *nanobot.files(envelope))
