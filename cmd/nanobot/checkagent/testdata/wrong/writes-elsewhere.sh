# breaks: own-folder
# Writes into the folder of all chats.
read -r line
: >"$NANOBOT_USER_DATA_DIR/../../state"
echo '{"type":"message","text":"Hi."}'
