# breaks: sigterm
# Ignores SIGTERM while it waits.
trap '' TERM
read -r line
trap - TERM
echo '{"type":"message","text":"Hi."}'
