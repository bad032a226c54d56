#!/usr/bin/env bash
# A nanobot micro-agent: one JSON line comes in on stdin, frames go out on stdout. It needs jq.
set -euo pipefail

# The text goes through a pipe, because an argument has at most 128 KiB.
frame() { printf %s "$2" | jq -Rsc --arg type "$1" '{type: $type, text: .}'; }

read -r envelope
text=$(jq -r '.text' <<<"$envelope")
files=$(jq -r '.media // [] | length' <<<"$envelope")

frame progress "Thinking..."

# Your work goes here. jq -r .user_data_dir gives a folder for what this chat should remember.
answer="You said: $text"
if [ "$files" -gt 0 ]; then
  answer+=$'\n'"and sent $files file(s)"
fi

# A message may carry files: jq -cn --arg f /absolute/path.png '{type: "message", text: "Look:", media: [$f]}'
frame message "$answer"
