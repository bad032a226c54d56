# breaks: no-user
# Expects that a person has written.
import json, sys
e = json.loads(sys.stdin.readline())
name = e["user"]["id"]
print(json.dumps({"type": "message", "text": "Hi."}))
