# breaks: buttons
# Has a button that is too wide.
read -r line
echo '{"type":"message","text":"Hi.","buttons":["Yes","very very very very very very very very very very very very very very very very very very very very long"]}'
