# breaks: missing-file
# Expects that the first file exists.
read -r line
case $line in
*'"media":["'*)
	path=${line#*'"media":["'}
	cat "${path%%\"*}" >/dev/null || exit 1
	;;
esac
echo '{"type":"message","text":"Hi."}'
