# breaks: lone-surrogate
# Cuts a text in the middle of a character.
import json, sys
e = json.loads(sys.stdin.readline())
units = e["text"].encode("utf-16-le")[:400]
print(json.dumps({"type": "message", "text": "You said: " + units.decode("utf-16-le", "surrogatepass")}))
