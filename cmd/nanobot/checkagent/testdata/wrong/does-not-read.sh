# breaks: reads-input
# Does not read its message.
echo '{"type":"message","text":"Hi."}'
