#!/usr/bin/env python3
"""A calculator that fails well: every failure has words for the user, a code for programs and an exit status."""
import json
import operator
import sys

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow}


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def fail(text, code, status):
    say("error", text, code=code)  # shown to the user last, whatever else is printed
    sys.exit(status)


def calculate(text):
    left, sign, right = text.split()
    return OPERATIONS[sign](float(left), float(right))


envelope = json.loads(sys.stdin.readline())
try:
    answer = calculate(envelope["text"])
except (ValueError, KeyError):
    fail("write it like this: 6 * 7", "BAD_INPUT", 2)
except ZeroDivisionError:
    fail("nothing can be divided by zero", "DIVISION_BY_ZERO", 1)
except Exception as e:  # the net under all the rest
    # Stderr is for whoever runs the bot. It is shown under the error to those that revealErrors names.
    print("calculate:", type(e).__name__, file=sys.stderr)
    fail("that was too much for me", "INTERNAL", 1)

say("message", f"{answer:g}")
