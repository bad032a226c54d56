# breaks: almost-right-frame
# Has another key for the text.
read -r line
echo '{"type":"progress","content":"Lost."}'
echo '{"type":"message","text":"Hi."}'
