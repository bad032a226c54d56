#!/usr/bin/env python3
"""Takes its API keys from the envelope and a different one each time, so that the load is shared."""
import json
import random
import sys


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


envelope = json.loads(sys.stdin.readline())
providers = envelope.get("providers", {})  # not there when none is configured
if "demo" not in providers:
    say("error", 'no provider "demo" in the config', code="NO_PROVIDER")
    sys.exit(1)

demo = providers["demo"]
key = random.choice(demo["api_keys"])  # always there, with at least one key
model = demo.get("models", ["default"])[0]
url = demo.get("base_url", "https://api.example.com")

# Here you would call the API. Never print a whole key: what is printed is sent to the chat.
say("message", f"I would ask {model} at {url} with the key that ends in {key[-4:]}, one of {len(demo['api_keys'])}.")
