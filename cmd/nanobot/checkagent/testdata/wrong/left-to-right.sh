# breaks: right-to-left
# Drops what is written from right to left.
read -r line
text=Hi.
case $line in
*'check שלום مرحبا end'*) text='check  end' ;;
esac
printf '{"type":"message","text":"You said: %s"}\n' "$text"
