#!/usr/bin/env python3
"""A nanobot micro-agent: one JSON line comes in on stdin, frames go out on stdout."""
import json
import sys


def frame(kind, text, **more):
    # Flush, or the chat sees nothing until the end.
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


envelope = json.loads(sys.stdin.readline())
text = envelope["text"]
files = envelope.get("media", [])

frame("progress", "Thinking...")

# Your work goes here. envelope["user_data_dir"] is a folder for what this chat should remember.
answer = f"You said: {text}"
if files:
    answer += f"\nand sent {len(files)} file(s)"

# A message may carry files: frame("message", "Look:", media=["/absolute/path.png"])
frame("message", answer)
