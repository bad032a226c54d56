package doctor

import (
	"cmp"
	"os"

	"nanobot/terminal/sandbox"
)

// checkSameUser reports what an agent that runs as the daemon's user can do to the daemon and its
// files.
func (d *doctor) checkSameUser() {
	const check = "isolation.user"
	t := d.cfg.Terminal
	root := os.Geteuid() == 0 && d.user.UID == 0
	switch {
	case root && cmp.Or(t.User, "root") == "root":
		d.ok(check, "the agent runs as root, as the daemon does. Root is not bound by what keeps other users out of the daemon's environment and memory (it is not "+
			"dumpable), nor by the modes of files; only %s bounds it. A daemon with a user of its own, or %s, is safer", d.key("sandbox"), d.key("user"))
	case root:
		d.ok(check, "the daemon is root and the agent is %s: the modes of files keep it from the config, the secrets and the state, and it can neither read the "+
			"daemon's memory nor signal it. Root itself is not bound by any of this", t.User)
	case t.Sandbox == sandbox.Landlock:
		d.ok(check, "the agent runs as the daemon's own user. It cannot read the daemon's environment and memory (which is not dumpable), and landlock keeps "+
			"it from the config, the secrets, the state and other chats' files. It still uses the network, the sockets of that user, and the user's share of processor time, memory "+
			"and processes unless %s bounds them; before version 6 of Landlock it can signal the daemon. Root is not bound by any of this", d.key("limits"))
	default:
		d.ok(check, "the agent runs as the daemon's own user. It cannot read the daemon's environment and memory (which is not dumpable), but it can still read "+
			"and change every file that this user can: the config, files of secrets and credentials, the state, all chats' folders; and it can stop, signal and restart the daemon. "+
			`%s "landlock", or %s, keeps it from that. Root is not bound by any of this`, d.key("sandbox"), d.key("user"))
	}
}
