# breaks: unknown-frame
# Misspells a type.
read -r line
echo '{"type":"mesage","text":"Lost."}'
echo '{"type":"message","text":"Hi."}'
