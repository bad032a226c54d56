package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"nanobot/internal/placeholder"
)

// Warnings returns texts about settings that are allowed, but probably not intended.
func (c *Config) Warnings() []string {
	all := warnMissingFolders("workspace", c.Workspace)
	for _, agent := range c.agentSections() {
		all = append(all, c.warnAgent(agent)...)
	}
	all = append(all, c.warnRoles()...)
	people := false
	c.eachChannel(func(at Scope, s ChannelSettings) {
		all = append(all, s.Warnings(at)...)
		need := httpNeed(s)
		people = people || need != nil && need.ServesPeople
	})
	if c.HTTP.Listen != "" && !c.HTTP.LoopbackOnly() && (people || c.HTTP.Token != "") {
		all = append(all,
			"other machines can reach http.listen: put a proxy with TLS in front of it, or the token and the chats can be "+
				"read on the network")
	}
	if c.containsSecrets {
		if info, err := os.Stat(c.file); err == nil && info.Mode().Perm()&0o004 != 0 {
			all = append(all, fmt.Sprintf("%s contains secrets, and everybody on this machine can read it: run chmod o-r %[1]s",
				c.file))
		}
	}
	return all
}

// warnAgent returns the warnings about one agent.
func (c *Config) warnAgent(t agentSection) []string {
	var all []string
	switch {
	case t.Enabled != nil && !*t.Enabled && len(c.Agents) == 0:
		all = append(all, t.dottedKey+".enabled is false: the bot only says that it is switched off")
	case t.Enabled != nil && !*t.Enabled:
		all = append(all, t.dottedKey+".enabled is false: the agent only says that it is switched off")
	case t.Command == "":
		all = append(all, t.dottedKey+".command is empty: there is no agent to run")
	}
	if at, s := c.protocolScope(t.Terminal, t.path); s != nil {
		all = append(all, s.Warnings(at)...)
	}
	if missing := c.missingLabel(t.Terminal); missing != "" && c.Gateway.Store == "" {
		all = append(all, fmt.Sprintf("%s.labels: this daemon has no label %q in gateway.member.labels, "+
			"and without gateway.store no other member can run the agent, so its messages wait", t.dottedKey, missing))
	}
	all = append(all, warnPlaceholder(t)...)
	all = append(all, c.warnPrompt(t)...)
	all = append(all, c.warnWarm(t)...)
	all = append(all, warnMissingFolders(t.dottedKey+".cwd", t.Cwd)...)
	all = append(all, warnMissingFolders(t.dottedKey+".mediaRoots", t.MediaRoots...)...)
	if c.Gateway.WhileRunning == "inject" && !c.supportsInject(t.Terminal) {
		all = append(all,
			fmt.Sprintf(`gateway.whileRunning is "inject", which %s does not support: its messages wait in the queue`,
				t.dottedKey))
	}
	return all
}

// warnMissingFolders returns a warning for each folder that does not exist.
func warnMissingFolders(key string, folders ...string) []string {
	var all []string
	for _, f := range folders {
		switch info, err := os.Stat(f); {
		case f == "" || err == nil && info.IsDir():
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			all = append(all, fmt.Sprintf("%s: %s cannot be seen: %s", key, f, errorWithoutPath(err)))
		default:
			all = append(all, fmt.Sprintf("%s: there is no folder %s", key, f))
		}
	}
	return all
}

// warnPlaceholder returns the warnings about how the command receives the user's text.
func warnPlaceholder(t agentSection) []string {
	var all []string
	c, err := placeholder.Parse(t.Shell, t.Command)
	if program := c.InputEvaluator(); t.Stdin == "text" && program != "" {
		all = append(all,
			fmt.Sprintf(`%s.stdin is "text", and %s executes its input: everybody who may talk to the bot can run any command as the bot's user`, t.dottedKey, program))
	}
	if err != nil || !c.HasPlaceholder() {
		return all
	}
	for _, w := range c.Warnings() {
		all = append(all, t.dottedKey+".command: "+w)
	}
	if len(t.Providers) > 0 && t.Stdin == "envelope" {
		all = append(all,
			fmt.Sprintf(`%[1]s.command has %[2]s and %[1]s.stdin is "envelope", so the agent also reads the keys of %[1]s.providers from its standard input, and tools such as claude -p append `+
				`that to the prompt: set %[1]s.stdin to "text" or "none"`, t.dottedKey, placeholder.Message))
	}
	return all
}

// warnPrompt warns about a model's tool that would get the envelope as its prompt, with the setting
// that gives it the message.
func (c *Config) warnPrompt(t agentSection) []string {
	program, want := c.promptReader(t.Terminal)
	command, _ := placeholder.Parse(t.Shell, t.Command)
	if program == "" || command.HasPlaceholder() && len(t.Providers) > 0 { // warnPlaceholder says the same
		return nil
	}
	prompt := "its prompt"
	if want == "none" {
		prompt = "a part of its prompt"
	}
	m := c.withPosition(Problem{
		Path: t.keyPath("command"),
		Text: fmt.Sprintf(`%s would read the envelope, a line of JSON, as %s: add "stdin": %q to %s`, program, prompt, want,
			t.dottedKey),
	})
	m.Value = ""
	return []string{m.String()}
}

// promptReader returns the name of a model's tool that would get the envelope as its prompt, and
// the value of terminal.stdin that gives it the message; "" for other agents.
func (c *Config) promptReader(t *Terminal) (program, stdin string) {
	command, _ := placeholder.Parse(t.Shell, t.Command) // also works for a command that is refused
	program = command.PromptReader()
	if program == "" || t.Stdin != "envelope" || !c.extensions.protocol(t.Protocol).SupportsWarm {
		return "", ""
	}
	if command.HasPlaceholder() || strings.Contains(t.Command, TextVariable) {
		return program, "none"
	}
	return program, "text"
}

// FitStdin gives the agent in Terminal the message instead of the envelope if it is a model's tool
// that takes its standard input for a prompt.
func (c *Config) FitStdin() {
	if _, stdin := c.promptReader(&c.Terminal); stdin != "" {
		c.Terminal.Stdin = stdin
	}
}
