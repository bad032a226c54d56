# breaks: answers
# Is killed by a signal.
read -r line
kill -SEGV $$
