package doctor

import (
	"cmp"
	"os"

	"nanobot/terminal/sandbox"
)

// checkSameUser reports what an agent that runs as the daemon's user can do to the daemon and its
// files.
func (d *doctor) checkSameUser() findings {
	t := d.cfg.Terminal
	root := os.Geteuid() == 0 && d.user.UID == 0
	switch {
	case root && cmp.Or(t.User, "root") == "root":
		return good("the agent runs as root, as the daemon does. File modes do not restrict root, and root can read the "+
			"daemon's environment and memory; only %s restricts "+
			"the agent. It is safer to run the daemon as its own user, or to set %s", d.agentKey("sandbox"), d.agentKey("user"))
	case root:
		return good("the daemon runs as root and the agent as %s: file modes keep the agent from the config, the secrets "+
			"and the state, and it can neither read the "+
			"daemon's memory nor signal the daemon. None of this restricts root", t.User)
	case t.Sandbox == sandbox.Landlock:
		return good("the agent runs as the daemon's user. It cannot read the daemon's environment and memory (the daemon "+
			"is not dumpable), and landlock keeps "+
			"it from the config, the secrets, the state and the files of other chats. It can still use the network and all "+
			"processor time, memory "+
			"and processes that %s does not limit; before version 6 of Landlock it can also signal the daemon. None of this "+
			"restricts root", d.agentKey("limits"))
	}
	return good("the agent runs as the daemon's user. It cannot read the daemon's environment and memory (the daemon is "+
		"not dumpable), but it can read "+
		"and change every file of this user: the config, files of secrets and credentials, the state and the folders of "+
		"all chats; and it can stop, signal and restart the daemon. "+
		`%s "landlock", or %s, prevents that. None of this restricts root`, d.agentKey("sandbox"), d.agentKey("user"))
}
