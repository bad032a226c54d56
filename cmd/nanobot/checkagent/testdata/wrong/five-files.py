# breaks: ten-files
# Has room for five files.
import json, sys
e = json.loads(sys.stdin.readline())
assert len(e.get("media", [])) <= 5
print(json.dumps({"type": "message", "text": "Hi."}))
