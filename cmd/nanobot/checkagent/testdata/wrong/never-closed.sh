# breaks: reads-one-line
# settings: interactive
# Waits until its input is closed, although it is interactive.
cat >/dev/null
echo '{"type":"message","text":"Hi."}'
