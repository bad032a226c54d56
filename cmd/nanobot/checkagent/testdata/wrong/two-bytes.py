# breaks: emoji
# Knows only the first 65,536 characters of Unicode.
import json, sys
e = json.loads(sys.stdin.readline())
print(json.dumps({"type": "message", "text": "You said: " + "".join(c if c < "\uffff" else "?" for c in e["text"])}))
