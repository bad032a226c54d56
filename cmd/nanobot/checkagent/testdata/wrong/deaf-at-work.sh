# breaks: sigterm-working
# Ignores SIGTERM while it works.
read -r line
trap '' TERM
echo '{"type":"progress","text":"Working"}'
[ "$NANOBOT_TEXT" != Hello ] || sleep 3.4
echo '{"type":"message","text":"Hi."}'
