# breaks: flushes
# Does not flush its progress.
import json, sys, time
e = json.loads(sys.stdin.readline())
print(json.dumps({"type": "progress", "text": "Working"}))
time.sleep(0.4)
print(json.dumps({"type": "message", "text": "Hi."}))
