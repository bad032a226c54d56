# breaks: missing-file
# Expects that each file exists.
import json, sys
e = json.loads(sys.stdin.readline())
for path in e.get("media", []):
    open(path).read()
print(json.dumps({"type": "message", "text": "Hi."}))
