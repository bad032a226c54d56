# breaks: almost-right-frame
# Prints a frame over several lines.
read -r line
printf '{\n  "type": "message",\n  "text": "Hi."\n}\n'
