#!/usr/bin/env python3
"""A model stand-in of protocol blocks: it reads an outbox and prints command blocks, once a round."""
import re
import sys

outbox = sys.stdin.read()
sequence = int(re.search(r"^Sequence: (\d+)$", outbox, re.MULTILINE).group(1))

if sequence == 1:
    print("""I look at the notes first.

[MESSAGE]
I read notes.md.
[/MESSAGE]
[READ_FILE path="notes.md"]""")
elif sequence == 2:
    print("""The notes ask for a greeting.

[CREATE_FILE path="src/hello.py"]
print("helo")
[/CREATE_FILE]
[EDIT_FILE path="src/hello.py" start_line="1" end_line="1"]
print("hello")
[/EDIT_FILE]
[RUN_COMMAND]
python3 src/hello.py
[/RUN_COMMAND]""")
elif "[OK] RUN_COMMAND:" in outbox:
    print("[DONE]\nsrc/hello.py is there, and it prints hello.\n[/DONE]")
else:
    print("[DONE]\nsrc/hello.py is there. I could not try it.\n[/DONE]")
