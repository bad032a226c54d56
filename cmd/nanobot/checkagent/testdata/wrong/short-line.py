# breaks: huge-text
# Reads at most 64 KiB of its message.
import json, sys
e = json.loads(sys.stdin.readline(65536))
print(json.dumps({"type": "message", "text": "Hi."}))
