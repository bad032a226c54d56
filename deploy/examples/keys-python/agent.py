#!/usr/bin/env python3
"""A Terminal-Bench style agent: a model behind an OpenAI-compatible URL types into a terminal.

Without an argument it speaks the transport "line": one process a message, a JSON line in and a JSON line out for each
step; it remembers the conversation itself. With --turn it speaks the transport "turn": one process a step, which reads
a complete prompt and prints the model's answer as it is.

OPENAI_BASE_URL, OPENAI_API_KEY and MODEL say which model.
"""
import json
import os
import sys
import urllib.error
import urllib.request

import keys

BASE_URL = os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1").rstrip("/")
MODEL = os.environ.get("MODEL", "qwen3-coder")
MOST_MESSAGES = 40  # of the conversation, so that it fits the model

SYSTEM = """You solve a task by typing into a Linux terminal. Each time you are shown the terminal, answer with one JSON
object and nothing else:
{"analysis": "what you see", "plan": "what you do next", "commands": [{"keystrokes": "ls\\n", "duration": 0.5}], "task_complete": false}
"keystrokes" is typed as it is; end a shell command with \\n. A string that is only the name of a key presses that key: Enter,
Escape, Tab, Up, Down, C-c. "duration" is how many seconds to wait afterwards, 60 at most. Set "task_complete" when the
task is done, and again when you are asked whether you are sure."""


def ask(messages):
    """Returns the model's answer."""
    request = urllib.request.Request(
        BASE_URL + "/chat/completions",
        json.dumps({"model": MODEL, "messages": messages}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", "none")},
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["choices"][0]["message"]["content"] or ""
    except urllib.error.HTTPError as e:
        sys.exit(f"the model at {BASE_URL} answered {e.code}: {e.read(300).decode(errors='replace')}")
    except (OSError, ValueError, LookupError) as e:
        sys.exit(f"the model at {BASE_URL} cannot be asked: {e}")


def line_agent():
    messages = [{"role": "system", "content": SYSTEM}]
    for request in keys.steps():
        text = request["screen"]
        if request["step"] == 1:
            text = f"Task Description:\n{request['instruction']}\n\nCurrent terminal state:\n{text}"
        messages.append({"role": "user", "content": text})
        answer = ask(messages)
        messages.append({"role": "assistant", "content": answer})
        if len(messages) > MOST_MESSAGES:  # the system's message and the task stay
            del messages[2:4]
        keys.raw(answer or "(the model said nothing)")


def turn_agent():
    print(ask([{"role": "user", "content": sys.stdin.read()}]), flush=True)


if sys.argv[1:] == ["--turn"]:
    turn_agent()
else:
    line_agent()
