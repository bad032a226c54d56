# breaks: ask-unanswered
# settings: interactive
# Fails if nobody answers.
read -r line
echo '{"type":"ask","id":"q","text":"Really?","options":["Yes","No"]}'
read -r answer
case $answer in *timeout*) exit 1 ;; esac
echo '{"type":"message","text":"Hi."}'
