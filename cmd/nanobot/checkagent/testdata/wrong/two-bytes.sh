# breaks: emoji
# Knows only the first 65,536 characters of Unicode.
read -r line
text=Hi.
case $line in
*'check 🙂 👩‍👩‍👧 漢字 end'*) text='check ? ???? 漢字 end' ;;
esac
printf '{"type":"message","text":"You said: %s"}\n' "$text"
