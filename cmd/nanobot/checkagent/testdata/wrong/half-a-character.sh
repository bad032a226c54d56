# breaks: lone-surrogate
# Cuts a text in the middle of a character.
read -r line
text=Hi.
case $line in
*'"text":"x🙂'*) text='x\ud83d' ;;
esac
printf '{"type":"message","text":"%s"}\n' "$text"
