#!/usr/bin/env bash
set -euo pipefail
source "$(dirname "$0")/nanobot.sh"

read_line
text=$(field text)
case $text in
stream)
  delta "One, "
  delta "two."
  ;;
ask) if ask "Which one?" Red Blue; then message "You chose $ANSWER."; else message "Nobody has answered."; fi ;;
fail) error "You told me to fail." TOLD ;;
*)
  paths=()
  while IFS= read -r path; do paths+=("$path"); done < <(files)
  progress "Thinking..."
  message "You said: $text" ${paths[@]+"${paths[@]}"} # bash 3.2 takes an empty array for an unset one
  ;;
esac
