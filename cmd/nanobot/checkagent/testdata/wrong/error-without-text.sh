# breaks: error-frame
# Does not say what is wrong.
read -r line
echo '{"type":"error"}'
