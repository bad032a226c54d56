# breaks: all-fields
# Expects that each quoted message has files.
import json, sys
e = json.loads(sys.stdin.readline())
files = e["reply_to"]["media"] if "reply_to" in e else []
print(json.dumps({"type": "message", "text": "Hi."}))
