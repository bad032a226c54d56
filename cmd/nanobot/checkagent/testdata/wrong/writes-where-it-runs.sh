# breaks: own-folder
# Writes into its working directory, which is the folder of all chats.
read -r line
echo "$line" >>notes
echo '{"type":"message","text":"Hi."}'
