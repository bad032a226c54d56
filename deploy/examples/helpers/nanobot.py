"""What an agent of protocol rich needs, in one file: copy it beside your agent."""
import json
import os
import sys

later = []  # what the person has written during the turn, see "inject" in docs/protocol.md


def read():
    """Returns the next line of nanobot, first the envelope; None at the end."""
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line.strip() else None


def files(envelope):
    """Returns the paths of the person's files that are still there."""
    return [path for path in envelope.get("media", []) if os.path.isfile(path)]


def frame(kind, text, **more):
    # Flush, or the chat sees nothing until the end. Non-ASCII is escaped, so no encoding can fail.
    print(json.dumps({"type": kind, "text": text, **more}), flush=True)


def progress(text):
    frame("progress", text)


def delta(text):
    """Writes the next piece of a message."""
    frame("delta", text)


def message(text, *files, **more):
    """Sends a message with files, such as message("Look:", "/absolute/path.png")."""
    frame("message", text, **({"media": list(files)} if files else {}), **more)


def error(text, code="", status=1):
    """Ends the turn with an error."""
    frame("error", text, **({"code": code} if code else {}))
    sys.exit(status)


def ask(text, *options, **more):
    """Asks the person, and returns the answer; None: nobody has answered. It needs "interactive": true."""
    ask.count = getattr(ask, "count", 0) + 1
    question = f"q{ask.count}"
    frame("ask", text, id=question, **({"options": list(options)} if options else {}), **more)
    while (line := read()) is not None:
        if line.get("type") == "answer" and line.get("id") == question:
            return None if "error" in line else line.get("text")
        later.append(line)
    return None
