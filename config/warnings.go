package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Warnings says what is allowed and yet probably not meant.
func (c *Config) Warnings() []string {
	all := warnFolders("workspace", c.Workspace)
	for _, agent := range c.agentSections() {
		all = append(all, c.warnAgent(agent)...)
	}
	people := false
	c.eachChannel(func(at Scope, s ChannelSettings) {
		all = append(all, s.Warnings(at)...)
		need := httpNeed(s)
		people = people || need != nil && need.ServesPeople
	})
	if c.HTTP.Listen != "" && !c.HTTP.LoopbackOnly() && (people || c.HTTP.Token != "") {
		all = append(all, "http.listen can be reached by others: put TLS in front of it, or the token and what is said in chats can be read on the way")
	}
	if c.literals {
		if info, err := os.Stat(c.file); err == nil && info.Mode().Perm()&0o004 != 0 {
			all = append(all, fmt.Sprintf("%s holds secrets and everybody on this machine can read it: chmod o-r %[1]s", c.file))
		}
	}
	return all
}

// warnAgent is about one agent.
func (c *Config) warnAgent(t agentSection) []string {
	var all []string
	switch {
	case t.Enabled != nil && !*t.Enabled && len(c.Agents) == 0:
		all = append(all, t.name+".enabled is false: the bot only says that it is switched off")
	case t.Enabled != nil && !*t.Enabled:
		all = append(all, t.name+".enabled is false: the agent only says that it is switched off")
	case t.Command == "":
		all = append(all, t.name+".command is empty: there is no agent to run")
	}
	if at, s := c.protocolScope(t.Terminal, t.path); s != nil {
		all = append(all, s.Warnings(at)...)
	}
	all = append(all, warnMessage(t)...)
	all = append(all, warnFolders(t.name+".cwd", t.Cwd)...)
	all = append(all, warnFolders(t.name+".mediaRoots", t.MediaRoots...)...)
	if c.Gateway.WhileRunning == "inject" && !c.supportsInject(t.Terminal) {
		all = append(all, fmt.Sprintf(`gateway.whileRunning is "inject", which %s cannot do: its messages wait in the queue`, t.name))
	}
	return all
}

// warnFolders says which folders of a key are not there.
func warnFolders(key string, folders ...string) []string {
	var all []string
	for _, f := range folders {
		switch info, err := os.Stat(f); {
		case f == "" || err == nil && info.IsDir():
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			all = append(all, fmt.Sprintf("%s: %s cannot be seen: %s", key, f, reason(err)))
		default:
			all = append(all, fmt.Sprintf("%s: there is no folder %s", key, f))
		}
	}
	return all
}

// warnMessage is about the user's text in the command.
func warnMessage(t agentSection) []string {
	var all []string
	if program := firstReader(t.Shell, t.Command); t.Stdin == "text" && program != "" {
		all = append(all, fmt.Sprintf(`%s.stdin is "text" and %s runs what it reads: everybody who may talk to the bot can run anything as its user`, t.name, program))
	}
	c, err := ParseCommand(t.Shell, t.Command)
	if err != nil || !c.HasPlaceholder() {
		return all
	}
	for _, w := range c.Warnings() {
		all = append(all, t.name+".command: "+w)
	}
	if len(t.Providers) > 0 && t.Stdin == "envelope" {
		all = append(all, fmt.Sprintf(`%[1]s.command has %[2]s and %[1]s.stdin is "envelope", so the keys of %[1]s.providers are on the agent's standard input too, and tools such as claude -p append `+
			`that to the prompt: set %[1]s.stdin to "text" or "none"`, t.name, Placeholder))
	}
	return all
}
