# breaks: quotes-and-options
# Evaluates the text of the message.
read -r line
eval "echo $NANOBOT_TEXT" >/dev/null
echo '{"type":"message","text":"Hi."}'
