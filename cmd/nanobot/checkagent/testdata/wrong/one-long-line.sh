# breaks: long-line
# settings: rich short-lines
# Prints a line that is too long.
read -r line
text=${line#*'"text":"'}
text=${text%%'","'*}
printf '{"type":"message","text":"You said: %s%s"}\n' "$text" "$text"
