# breaks: second-message
# Expects that it has never been here.
import json, os, sys
e = json.loads(sys.stdin.readline())
open(os.path.join(e["user_data_dir"], "state"), "x").close()
print(json.dumps({"type": "message", "text": "Hi."}))
