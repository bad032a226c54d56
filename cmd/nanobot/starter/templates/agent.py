#!/usr/bin/env python3
"""A nanobot micro-agent. nanobot.py reads what the person has sent, and prints what they see."""
import nanobot

envelope = nanobot.read()
text, files = envelope["text"], nanobot.files(envelope)
nanobot.progress("Thinking...")

# Your work goes here. envelope["user_data_dir"] is a folder for what this chat should remember.
answer = f"You said: {text}"
if files:
    answer += f"\nand sent {len(files)} file(s)"

# A message may carry files: nanobot.message("Look:", "/absolute/path.png")
nanobot.message(answer)
