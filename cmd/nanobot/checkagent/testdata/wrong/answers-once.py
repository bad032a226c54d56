# breaks: second-attempt
# Does not repeat an answer that was lost.
import json, sys
e = json.loads(sys.stdin.readline())
if e["attempt"] == 1:
    print(json.dumps({"type": "message", "text": "Hi."}))
