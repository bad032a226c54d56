# breaks: blank-text
# Expects a word, unless there is no text.
read -r line
case $line in
*'"text":" '*) exit 1 ;;
esac
echo '{"type":"message","text":"Hi."}'
