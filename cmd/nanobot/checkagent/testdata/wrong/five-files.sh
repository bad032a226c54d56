# breaks: ten-files
# Has room for five files.
read -r line
case $line in
*'"media":['*,*,*,*,*,*']'*'"media_names":'*) exit 1 ;;
esac
echo '{"type":"message","text":"Hi."}'
