# What an agent of protocol rich needs, in one file for bash: copy it beside your agent. It needs jq.

# read_line sets LINE to the next line of nanobot, first the envelope, and fails at the end.
read_line() { IFS= read -r LINE || [ -n "$LINE" ]; }

# field prints a value of LINE, such as: field text, field user_data_dir. files prints the paths of the person's files that
# are still there.
field() { jq -r --arg key "$1" '.[$key] // "" | tostring' <<<"$LINE"; }
files() { jq -r '.media // [] | .[]' <<<"$LINE" | while IFS= read -r path; do [ ! -f "$path" ] || printf '%s\n' "$path"; done; }

# The text goes through a pipe, because an argument has at most 128 KiB. Arguments of jq follow.
frame() { printf %s "$2" | jq -Rsc --arg type "$1" "${@:3}"; }

progress() { frame progress "$1" '{$type, text: .}'; }

# delta writes the next piece of a message.
delta() { frame delta "$1" '{$type, text: .}'; }

# message sends a message with files: message "Look:" /absolute/path.png
message() { frame message "$1" '{$type, text: .} + if $ARGS.positional == [] then {} else {media: $ARGS.positional} end' --args -- "${@:2}"; }

# error ends the turn: error TEXT [CODE [STATUS]]
error() {
  frame error "$1" --arg code "${2-}" '{$type, text: .} + if $code == "" then {} else {$code} end'
  exit "${3:-1}"
}

# ask sets ANSWER to the person's answer, and fails if nobody has answered: ask TEXT [OPTION...]
# It needs "interactive": true. What the person writes in between is dropped.
ask() {
  local id=q$((asked = ${asked:-0} + 1))
  frame ask "$1" --arg id "$id" '{$type, text: ., $id} + if $ARGS.positional == [] then {} else {options: $ARGS.positional} end' --args -- "${@:2}"
  while read_line; do
    if [ "$(field type) $(field id)" = "answer $id" ]; then
      ANSWER=$(field text)
      [ -z "$(field error)" ]
      return
    fi
  done
  return 1
}
