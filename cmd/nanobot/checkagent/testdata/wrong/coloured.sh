# breaks: control-characters
# Prints colours into a pipe.
read -r line
printf '{"type":"message","text":"\\u001b[31mHi.\\u001b[0m"}\n'
