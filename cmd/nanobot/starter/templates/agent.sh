#!/usr/bin/env bash
# A nanobot micro-agent. nanobot.sh reads what the person has sent, and prints what they see. It needs jq.
set -euo pipefail
source "$(dirname "$0")/nanobot.sh"

read_line
count=$(files | wc -l)
progress "Thinking..."

# Your work goes here. $(field user_data_dir) is a folder for what this chat should remember.
answer="You said: $(field text)"
if [ "$count" -gt 0 ]; then
  answer+=$'\n'"and sent $((count)) file(s)"
fi

# A message may carry files: message "Look:" /absolute/path.png
message "$answer"
