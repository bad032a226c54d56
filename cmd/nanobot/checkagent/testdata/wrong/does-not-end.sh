# breaks: ends
# Does not end after its answer.
read -r line
echo '{"type":"message","text":"Hi."}'
sleep 60
