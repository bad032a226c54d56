#!/usr/bin/env python3
"""An agent of protocol keys without a model: it types a fixed program into vim and runs it."""
import json
import sys


def keys(keystrokes, duration=0.1):
    return {"keystrokes": keystrokes, "duration": duration}


STEPS = [
    (
        "The terminal shows a shell prompt.",
        "I write hello.py with vim.",
        [keys("vim hello.py\n", 2), keys("i"), keys("print('hello')"), keys("Escape"), keys(":wq\n", 1)],
    ),
    ("The file is written.", "I run it.", [keys("python3 hello.py\n", 1)]),
]

for line in sys.stdin:
    request = json.loads(line)
    step = request["step"] - 1
    done = step >= len(STEPS)
    if done:
        analysis, plan, commands = "hello.py is there, and it prints hello.", "", []
    else:
        analysis, plan, commands = STEPS[step]
    print(json.dumps({"analysis": analysis, "plan": plan, "commands": commands, "task_complete": done}), flush=True)
