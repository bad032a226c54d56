# breaks: sigterm-working
# Ignores SIGTERM while it works.
read -r line
trap '' TERM
echo '{"type":"progress","text":"Working"}'
case $line in *'"run-stop-working"'*) sleep 30 ;; esac
echo '{"type":"message","text":"Hi."}'
