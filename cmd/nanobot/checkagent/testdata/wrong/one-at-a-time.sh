# breaks: two-at-once
# Has a lock that only one turn can have.
read -r line
mkdir "$NANOBOT_USER_DATA_DIR/../lock" || exit 1
sleep 0.2
rmdir "$NANOBOT_USER_DATA_DIR/../lock"
echo '{"type":"message","text":"Hi."}'
