# breaks: all-fields
# Expects that each quoted message has files.
read -r line
case $line in
*'"reply_to":{'*'"media":['*) ;;
*'"reply_to":{'*) exit 1 ;;
esac
echo '{"type":"message","text":"Hi."}'
