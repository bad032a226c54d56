# breaks: blank-text
# Expects a word, unless there is no text.
import json, sys
e = json.loads(sys.stdin.readline())
first = e["text"] and e["text"].split()[0]
print(json.dumps({"type": "message", "text": "Hi."}))
