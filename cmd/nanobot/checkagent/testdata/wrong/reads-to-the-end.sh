# breaks: reads-one-line
# Waits until its input is closed.
cat >/dev/null
echo '{"type":"message","text":"Hi."}'
