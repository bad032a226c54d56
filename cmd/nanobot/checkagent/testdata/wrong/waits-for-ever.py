# breaks: stdin-closed-early
# Waits for a line although its input has ended.
import json, sys, time
while not (line := sys.stdin.readline()):
    time.sleep(0.05)
print(json.dumps({"type": "message", "text": "Hi."}))
