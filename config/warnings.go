package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Warnings says what is allowed and yet probably not meant.
func (c *Config) Warnings() []string {
	var all []string
	switch t := c.Terminal; {
	case t.Enabled != nil && !*t.Enabled:
		all = append(all, "terminal.enabled is false: the bot only says that it is switched off")
	case t.Command == "":
		all = append(all, "terminal.command is empty: there is no agent to run")
	}
	if at, s := c.protocolScope(&c.Terminal, key("terminal")); s != nil {
		all = append(all, s.Warnings(at)...)
	}
	all = append(all, warnMessage(c.Terminal)...)
	for key, folders := range map[string][]string{"workspace": {c.Workspace}, "terminal.cwd": {c.Terminal.Cwd}, "terminal.mediaRoots": c.Terminal.MediaRoots} {
		for _, f := range folders {
			switch info, err := os.Stat(f); {
			case f == "" || err == nil && info.IsDir():
			case err != nil && !errors.Is(err, fs.ErrNotExist):
				all = append(all, fmt.Sprintf("%s: %s cannot be seen: %s", key, f, reason(err)))
			default:
				all = append(all, fmt.Sprintf("%s: there is no folder %s", key, f))
			}
		}
	}
	people := false
	c.eachChannel(func(at Scope, s ChannelSettings) {
		all = append(all, s.Warnings(at)...)
		need := httpNeed(s)
		people = people || need != nil && need.People
	})
	if c.HTTP.Listen != "" && !c.HTTP.Local() && (people || c.HTTP.Token != "") {
		all = append(all, "http.listen can be reached by others: put TLS in front of it, or the token and what is said in chats can be read on the way")
	}
	if c.literals {
		if info, err := os.Stat(c.file); err == nil && info.Mode().Perm()&0o004 != 0 {
			all = append(all, fmt.Sprintf("%s holds secrets and everybody on this machine can read it: chmod o-r %[1]s", c.file))
		}
	}
	return all
}

// warnMessage is about the user's text in the command.
func warnMessage(t Terminal) []string {
	var all []string
	if program := firstReader(t.Shell, t.Command); t.Stdin == "text" && program != "" {
		all = append(all, fmt.Sprintf(`terminal.stdin is "text" and %s runs what it reads: everybody who may talk to the bot can run anything as its user`, program))
	}
	c, err := ParseCommand(t.Shell, t.Command)
	if err != nil || !c.HasPlaceholder() {
		return all
	}
	for _, w := range c.Warnings() {
		all = append(all, "terminal.command: "+w)
	}
	if len(t.Providers) > 0 && t.Stdin == "envelope" {
		all = append(all, fmt.Sprintf(`terminal.command has %s and terminal.stdin is "envelope", so the keys of terminal.providers are on the agent's standard input too, and tools such as claude -p append `+
			`that to the prompt: set terminal.stdin to "text" or "none"`, Placeholder))
	}
	return all
}
