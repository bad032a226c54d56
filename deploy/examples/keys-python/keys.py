"""What an agent of protocol keys with "agent": "line" needs, in one file: copy it beside your agent."""
import json
import sys


def steps():
    """Yields each step of the task: its instruction, its screen, and its number from 1 on as step."""
    for line in sys.stdin.buffer:
        if line.strip():
            yield json.loads(line)


def keys(keystrokes, duration=1.0):
    """Returns a command: text, such as "ls\\n", or the name of one key, such as "C-c"; then a wait in seconds."""
    return {"keystrokes": keystrokes, "duration": duration}


def respond(analysis, plan="", *commands, done=False):
    """Answers a step. The task ends with the second answer in a row that says it is done."""
    print(json.dumps({"analysis": analysis, "plan": plan, "commands": list(commands), "task_complete": done}), flush=True)


def raw(text):
    """Answers a step with what a model has written, as one line."""
    start, end = text.find("{"), text.rfind("}")
    try:
        text = json.dumps(json.loads(text[start : end + 1]))
    except ValueError:
        text = " ".join(text.split())
    print(text, flush=True)
