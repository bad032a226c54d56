# breaks: sigterm-working
# settings: slow
# Ignores SIGTERM while it works.
read -r line
trap '' TERM
echo '{"type":"progress","text":"Working"}'
[ "$NANOBOT_TEXT" != Hello ] || sleep 3.6
echo '{"type":"message","text":"Hi."}'
