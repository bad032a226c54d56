# breaks: no-user
# Expects that a person has written.
read -r line
case $line in
*'"user":{"id":'*) echo '{"type":"message","text":"Hi."}' ;;
*) exit 1 ;;
esac
