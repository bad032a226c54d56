# breaks: usage-frame
# Has used less than nothing.
read -r line
echo '{"type":"usage","input_tokens":-1}'
echo '{"type":"message","text":"Hi."}'
