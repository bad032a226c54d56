# breaks: right-to-left
# Drops what is written from right to left.
import json, sys
e = json.loads(sys.stdin.readline())
print(json.dumps({"type": "message", "text": "You said: " + "".join(c for c in e["text"] if not "\u0590" <= c < "\u0700")}))
