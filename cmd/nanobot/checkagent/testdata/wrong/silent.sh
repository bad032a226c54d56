# breaks: answers
# Prints nothing.
read -r line
