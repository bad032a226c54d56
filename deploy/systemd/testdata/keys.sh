# An agent of protocol keys that types one line and is done.
read -r told
printf '%s\n' '{"analysis": "", "plan": "", "commands": [{"keystrokes": "test -t 0 && stty size > size && touch /usr/made 2> refused; tty > /dev/tty && mv size result\n", "duration": 3}]}'
read -r told
printf '%s\n' '{"analysis": "", "plan": "", "commands": [], "task_complete": true}'
read -r told
printf '%s\n' '{"analysis": "Typed.", "plan": "", "commands": [], "task_complete": true}'
