# breaks: second-message
# Expects that it has never been here.
read -r line
mkdir "$NANOBOT_USER_DATA_DIR/state" || exit 1
echo '{"type":"message","text":"Hi."}'
