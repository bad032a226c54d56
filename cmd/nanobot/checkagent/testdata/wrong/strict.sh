# breaks: unknown-field
# Refuses what a later version adds.
read -r line
case $line in
*'"new_field":'*) exit 1 ;;
esac
echo '{"type":"message","text":"Hi."}'
