#!/usr/bin/env python3
"""Looks through Python code for a few bad habits: a summary, the details, and the mended code as a file."""
import json
import re
import sys
from pathlib import Path

# What to look for, what to put there instead, and why. Simple on purpose: they look into strings and comments too.
RULES = [
    (re.compile(r"== None\b"), "is None", "compare with `is None`"),
    (re.compile(r"!= None\b"), "is not None", "compare with `is not None`"),
    (re.compile(r"\bexcept:"), "except Exception:", "a bare `except:` also catches Ctrl-C"),
    (re.compile(r"[ \t]+$"), "", "white space at the end of the line"),
]


def say(kind, text, **more):
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def mend(code):
    """Returns the mended code and what was wrong with it."""
    lines, findings = code.split("\n"), []
    for number, line in enumerate(lines):
        for pattern, better, why in RULES:
            line, found = pattern.subn(better, line)
            if found:
                findings.append(f"- line {number + 1}: {why}")
        lines[number] = line
    return "\n".join(lines), findings


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


envelope = json.loads(sys.stdin.readline())

# The code is the attached file, or else the message itself. "media" is only there if something was attached.
files = envelope.get("media", [])
try:
    code = Path(files[0]).read_text(errors="replace") if files else envelope["text"]
except OSError as e:  # it may be gone if the message had to wait
    say("error", f"The file cannot be read: {e.strerror}.", code="NO_FILE")
    sys.exit(1)

say("progress", "Analyzing...")
mended, findings = mend(code)

# Each message frame is a bubble of its own, sent at once. Text is Markdown.
say("message", f"## Result\n\n{plural(len(findings), 'issue')} in {plural(len(code.splitlines()), 'line')}.")
if findings:
    say("message", "\n".join(findings))
    path = Path(envelope["user_data_dir"]) / "mended.py"
    path.write_text(mended)
    say("message", "The mended version:", media=[str(path)])
