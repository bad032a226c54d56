# breaks: empty-text
# Expects at least one character.
read -r line
case $line in
*'"text":""'*) exit 1 ;;
esac
echo '{"type":"message","text":"Hi."}'
