# An agent with a few tricks, for the tests of the page. What it waits for is a file in the workspace.
read -r line
text=${line#*\"text\":\"}
text=${text%%\"*}
await() { while [ ! -e "$1" ]; do sleep 0.02; done; }
say() { printf '{"type":"%s","text":"%s"}\n' "$1" "$2"; }
case "$text" in
wait*)
	say progress "Looking around"
	await go
	say message "It is **sunny**.\n\n\`\`\`go\nfmt.Println(1)\n\`\`\`"
	;;
slow*)
	say log "began to count"
	say progress "Counting slowly"
	echo "one line of stderr" >&2
	sleep 300
	;;
ask*)
	printf '{"type":"ask","id":"q","text":"Which one?","options":["Red","Blue"]}\n'
	read -r answer
	case "$answer" in *Blue*) say message "Blue it is" ;; *) say message "not Blue" ;; esac
	;;
album*)
	printf '{"type":"message","text":"Three views","media":["%s","%s","%s","%s"]}\n' "$PWD/view-1.png" "$PWD/view-2.png" "$PWD/view-3.png" "$PWD/notes.txt"
	;;
look*)
	media=${line#*\"media\":\[}
	media=${media%%\]*}
	names=
	IFS=,
	for path in $media; do
		path=${path#\"}
		path=${path%\"}
		names="$names $(wc -c <"$path" | tr -d ' ')"
	done
	say message "Sizes:$names"
	;;
return*)
	media=${line#*\"media\":\[}
	printf '{"type":"message","text":"Here it is","media":[%s]}\n' "${media%%\]*}"
	;;
evil*)
	say message "<script>window.hacked=1<\/script> <img src=x onerror=window.hacked=1> [click](javascript:window.hacked=1) <b onclick=window.hacked=1>bold<\/b>"
	;;
*)
	say progress "Thinking about $text"
	say message "Answer to **$text**"
	;;
esac
