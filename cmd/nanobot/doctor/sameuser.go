package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"nanobot/terminal/sandbox"
)

// checkSameUser reports what an agent that runs as the daemon's user can do to the daemon and its
// files.
func (d *doctor) checkSameUser() findings {
	t := d.cfg.Terminal
	root := os.Geteuid() == 0 && d.user.UID == 0
	switch {
	case root && cmp.Or(t.User, "root") == "root":
		return doubtful("the agent runs as root, as the daemon does. File modes do not restrict root, and root can read the "+
			"daemon's environment and memory; only "+d.agentKey("sandbox")+" restricts the agent",
			`run the daemon as its own user, or run useradd --system nanobot-agent and `+d.addLine("user", "nanobot-agent"))
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
	text := "the agent runs as the daemon's user. It cannot read the daemon's environment and memory (the daemon is not " +
		"dumpable), but it can read and change every file of this user: files of secrets and credentials, the state and " +
		"the folders of all chats; and it can stop, signal and restart the daemon. " + d.agentKey("sandbox") + ` "landlock", or ` +
		d.agentKey("user") + ", prevents that. None of this restricts root"
	if slices.Contains([]string{"", "none"}, t.Sandbox) && d.canChangeConfig() {
		return doubtful("the agent can change its config: "+text, d.addLine("sandbox", sandbox.Landlock))
	}
	return good("%s", text)
}

// canChangeConfig reports whether the daemon's user can write to the config, or replace it.
func (d *doctor) canChangeConfig() bool {
	access := func(path string) error { return unix.Access(path, unix.W_OK) }
	if os.Geteuid() == 0 {
		access = func(path string) error { return d.user.Access(path, unix.W_OK) }
	}
	return access(d.cfg.File()) == nil || access(filepath.Dir(d.cfg.File())) == nil
}

// addLine returns the fix that adds a setting to the agent's section, with the section's position.
func (d *doctor) addLine(key, value string) string {
	return d.cfg.Locate(fmt.Errorf("add the line %q: %q,", key, value), d.cfg.AgentPath()...).Error()
}
