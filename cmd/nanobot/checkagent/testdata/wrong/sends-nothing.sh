# breaks: sends-files
# Sends a file that does not exist.
read -r line
echo '{"type":"message","text":"Hi.","media":["gone.png"]}'
