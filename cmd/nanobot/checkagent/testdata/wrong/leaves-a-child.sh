# breaks: child-left
# Leaves a process behind.
read -r line
sleep 60 >/dev/null 2>&1 &
echo '{"type":"message","text":"Hi."}'
