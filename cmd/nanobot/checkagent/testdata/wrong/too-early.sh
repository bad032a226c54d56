# breaks: output-before-input
# Prints before it has read anything.
echo '{"type":"progress","text":"Starting"}'
read -r line
echo '{"type":"message","text":"Hi."}'
