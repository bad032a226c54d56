# breaks: empty-text
# Expects at least one character.
import json, sys
e = json.loads(sys.stdin.readline())
first = e["text"][0]
print(json.dumps({"type": "message", "text": "Hi."}))
