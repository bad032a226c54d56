# breaks: two-at-once
# Has a lock that only one turn can have. The first of two turns at once is busy before it reads, and
# has the lock until the second one has tried to get it.
set -C
cd "$NANOBOT_USER_DATA_DIR/.." || exit
if [ "$NANOBOT_CHAT_ID" = pair-first ]; then
	(until [ -e awake ]; do sleep 1; kill -CONT $$; done) >/dev/null 2>&1 &
	kill -STOP $$
	: >lock >awake
	read -r line
	n=0
	until [ -e tried ] || [ $((n += 1)) = 100 ]; do sleep 0.1; done
	wait
else
	read -r line
	(: >lock) || failed=1
	[ "$NANOBOT_CHAT_ID" != pair-second ] || : >tried
	[ -z "$failed" ] || exit 1
fi
sleep 0.2
rm lock
echo '{"type":"message","text":"Hi."}'
