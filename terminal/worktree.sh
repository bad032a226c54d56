# Makes the worktree $2 of the repository $1 on the branch $3, in an empty folder, unless the tree is there already. It
# runs in the agent's sandbox. worktree.go has the meaning of the exit status.
repo=$1 branch=$3 force=
fail() { echo "$2" >&2; exit "$1"; }
command -v git >/dev/null || fail 10 'git is not installed'
unset $(git rev-parse --local-env-vars)
# A sandbox that hides the home folder makes git fail if there is a configuration in it.
git config --global -l >/dev/null 2>&1 || export GIT_CONFIG_GLOBAL=/dev/null
run() { git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c branch.autoSetupMerge=false "$@"; }
storage() (dir=$(run -C "$1" rev-parse --git-common-dir) && cd "$1" && cd "$dir" && pwd -P)
records() { grep -lxF -e "$tree/.git" "$own"/worktrees/*/gitdir 2>/dev/null; }
add() { run -C "$repo" worktree add $force "$@" 2>&1; }

tree=$(cd "$2" && pwd -P) || exit 12
own=$(storage "$repo") || exit 11
records | while read -r record; do
	record=${record%/gitdir}
	# git locks a tree while it makes it: whoever made this one was killed, and no agent has worked in it.
	[ "$(cat "$record/locked" 2>/dev/null)" = initializing ] && rm -rf "$tree" "$record"
	mkdir -p -m 700 "$tree"
done
if [ -e "$tree/.git" ]; then
	[ "$(storage "$tree")" = "$own" ] || fail 12 'the folder belongs to another repository'
	exit 0
fi
[ -z "$(ls -A "$tree")" ] || fail 12 'the folder is not empty'
[ -z "$(records)" ] || force='-f -f' # somebody has removed the tree, and git still has its record
for attempt in 1 2 3 4 5; do
	if run -C "$repo" show-ref -q --verify "refs/heads/$branch"; then
		output=$(add "$tree" "$branch")
	elif run -C "$repo" rev-parse -q --verify 'HEAD^{commit}' >/dev/null; then
		output=$(add -b "$branch" "$tree" HEAD)
	else
		fail 13 'the repository has no commit'
	fi && exit 0
	# Another chat's turn makes its own: git waits for no lock, and reads records that are half written.
	case $output in *".lock'"* | *commondir*) ;; *) break ;; esac
	# Only turns of this chat make the branch, one at a time: a lock that stays is that of a turn which was killed.
	[ "$attempt" -lt 3 ] || rm -f "$own/refs/heads/$branch.lock"
	sleep 0.3 || sleep 1
done
echo "$output" >&2
exit 1
