"""An agent for a runbook, without a model: it is given a step a turn."""

import json
import sys

text = json.loads(sys.stdin.readline())["text"]
first_line = text.split("\n", 1)[0]


def say(answer):
    print(json.dumps({"type": "message", "text": answer}), flush=True)


if first_line.endswith("Write the release notes"):
    with open("site/notes.txt", "w", encoding="utf-8") as notes:
        notes.write("The page greets its visitors.\n")
    say("I wrote site/notes.txt.")
elif first_line.endswith("Tell what was done"):
    say("The site was checked, approved, deployed to live/ and checked again.")
elif first_line.startswith("Runbook"):
    say("I have read the step.")
else:
    say("Send /run deploy.")
