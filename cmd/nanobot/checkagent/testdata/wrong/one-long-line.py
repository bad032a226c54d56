# breaks: long-line
# settings: rich short-lines
# Prints a line that is too long.
import json, sys
e = json.loads(sys.stdin.readline())
print(json.dumps({"type": "message", "text": "You said: " + e["text"] * 2}))
