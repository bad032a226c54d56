# breaks: unknown-field
# Refuses what a later version adds.
import json, sys
e = json.loads(sys.stdin.readline())
assert "new_field" not in e
print(json.dumps({"type": "message", "text": "Hi."}))
