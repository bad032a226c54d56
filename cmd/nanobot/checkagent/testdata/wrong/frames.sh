# breaks: frames-in-plain
# settings: plain
# Prints frames where text is expected.
read -r line
echo '{"type":"message","text":"Hi."}'
