#!/usr/bin/env python3
"""The smallest rich agent: one word of progress, one answer."""
import json
import sys

envelope = json.loads(sys.stdin.readline())

# flush=True matters: Python holds back what it prints into a pipe, and the chat would see nothing until the end.
print(json.dumps({"type": "progress", "text": "Thinking..."}), flush=True)
print(json.dumps({"type": "message", "text": "You said: " + envelope["text"]}), flush=True)
