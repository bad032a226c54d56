#!/usr/bin/env python3
"""Remembers each chat: how many messages came, and the last of them."""
import json
import sys
from pathlib import Path

NOTHING = {"count": 0, "last": ""}


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def load(file):
    try:
        state = json.loads(file.read_text())
        return {"count": int(state["count"]), "last": str(state["last"])}
    except FileNotFoundError:
        return NOTHING
    except (ValueError, KeyError, TypeError) as e:
        # Cut off or edited by hand. Keep it for whoever wants to look, and start a new conversation rather than fail for ever.
        file.replace(file.with_suffix(".broken"))
        say("log", f"state was unreadable and is moved away: {e!r}", level="warning")
        return NOTHING


def save(file, state):
    # Write beside it, then rename: whoever is killed in between leaves the old state whole.
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(state))
    fresh.replace(file)


envelope = json.loads(sys.stdin.readline())

# The folder is there already and belongs to this chat alone. Within a chat messages come one after the other, so
# no lock is needed.
file = Path(envelope["user_data_dir"]) / "state.json"
state = load(file)
count = state["count"] + 1
save(file, {"count": count, "last": envelope["text"]})

if count == 1:
    say("message", "This is your first message.")
else:
    say("message", f"This is your message number {count}. The one before was: {state['last']}")
