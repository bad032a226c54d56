# breaks: second-attempt
# Does not repeat an answer that was lost.
read -r line
case $line in
*'"attempt":1'*) echo '{"type":"message","text":"Hi."}' ;;
esac
