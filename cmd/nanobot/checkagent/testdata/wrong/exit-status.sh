# breaks: exit-code-without-error
# Fails without saying why.
read -r line
echo '{"type":"message","text":"Hi."}'
exit 3
