# breaks: ask
# settings: interactive
# Reads the answer until its input is closed.
read -r line
echo '{"type":"ask","id":"q","text":"Really?","options":["Yes","No"]}'
cat >/dev/null
echo '{"type":"message","text":"Hi."}'
