# breaks: stdin-closed-early
# Waits for a line although its input has ended.
until read -r line; do sleep 0.2; done
echo '{"type":"message","text":"Hi."}'
