# breaks: stderr-noise
# Warns on stderr although all is well.
read -r line
echo 'DeprecationWarning: old' >&2
echo '{"type":"message","text":"Hi."}'
