# breaks: ask-ignored
# Asks, although it may not.
read -r line
echo '{"type":"ask","id":"q","text":"Really?","options":["Yes","No"]}'
echo '{"type":"message","text":"Hi."}'
