# breaks: flushes
# Does not flush, and is fast.
import json, sys
e = json.loads(sys.stdin.readline())
print(json.dumps({"type": "progress", "text": "Working"}))
print(json.dumps({"type": "message", "text": "Hi."}))
