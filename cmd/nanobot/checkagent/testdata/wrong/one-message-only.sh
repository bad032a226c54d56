# breaks: inject
# settings: interactive inject
# Fails if a second message comes.
read -r line
echo '{"type":"progress","text":"Working"}'
if timeout 0.3 sh -c 'read -r more'; then exit 1; fi
echo '{"type":"message","text":"Hi."}'
