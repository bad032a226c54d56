package login

import (
	"cmp"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// Method is a sign-in method that an agent offers.
type Method struct {
	Type        rpc.Optional[string] `json:"type"` // "": the agent signs in by itself
	ID          string               `json:"id"`
	Name        string               `json:"name"`
	Description rpc.Optional[string] `json:"description"`
	// Args and Env are added to the agent's command, for the type terminal.
	Args rpc.Optional[[]string]          `json:"args"`
	Env  rpc.Optional[map[string]string] `json:"env"`
	// Vars are the variables of the type env_var.
	Vars rpc.Optional[[]variable] `json:"vars"`
	Meta rpc.Optional[meta]       `json:"_meta"`
}

// variable is an environment variable that the agent reads.
type variable struct {
	Name string `json:"name"`
}

// meta is the form of agents that predate the type terminal.
type meta struct {
	Terminal rpc.Optional[struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}] `json:"terminal-auth"`
}

// kind is who signs in, and how.
type kind int

const (
	byAgent    kind = iota // by the method authenticate
	byCommand              // a person runs a command
	byVariable             // a person sets variables
	byUnknown              // a type that nanobot does not know
)

func (m Method) kind() kind {
	switch m.Type.V {
	case "terminal":
		return byCommand
	case "env_var":
		return byVariable
	case "", "agent":
		if m.Meta.V.Terminal.V.Command != "" {
			return byCommand
		}
		return byAgent
	}
	return byUnknown
}

// SignIn returns the method as `nanobot login` needs it. command is the agent's.
func (m Method) SignIn(command string) terminal.SignInMethod {
	s := terminal.SignInMethod{ID: m.ID, Name: cmp.Or(m.Name, m.ID), Description: m.Description.V}
	switch m.kind() {
	case byCommand:
		env := m.Env.V
		if old := m.Meta.V.Terminal; m.Type.V == "" && old.OK {
			s.Command, env = joinWords(append([]string{old.V.Command}, old.V.Args...)), old.V.Env
		} else {
			s.Command = strings.TrimSpace(command + " " + joinWords(m.Args.V))
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			s.Env = append(s.Env, name+"="+env[name])
		}
	case byVariable:
		for _, v := range m.Vars.V {
			if v.Name != "" {
				s.Variables = append(s.Variables, v.Name)
			}
		}
	case byAgent, byUnknown:
	}
	return s
}

// joinWords joins the words of a command for a shell.
func joinWords(all []string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/=:,@+%"
	quoted := make([]string, len(all))
	for i, word := range all {
		if quoted[i] = word; word == "" || strings.Trim(word, plain) != "" {
			quoted[i] = terminal.ShellQuote(word)
		}
	}
	return strings.Join(quoted, " ")
}

// Place is where an agent is signed in: what a person has to know for it.
type Place struct {
	Words   words.Words
	Command string // that starts the agent
	Reveal  bool   // the person may see the whole command
	User    *syscall.Credential
	Redact  func(string) string
}

// Text says that somebody has to sign in, and how.
func (e *RequiredError) Text(p Place) string {
	lines := []string{p.Words.Text(words.SignInRequired, terminal.OneLine(rpc.InnerMessage(e.message), 300))}
	for _, m := range e.methods {
		lines = append(lines, "• "+p.describe(m))
	}
	return strings.Join(lines, "\n")
}

// nameLength limits the length of a name that an agent has chosen.
const nameLength = 120

// describe describes one method.
func (p Place) describe(m Method) string {
	s := m.SignIn(visibleCommand(p.Command, p.Reveal))
	line := terminal.OneLine(s.Name, nameLength)
	if s.Description != "" {
		line += ": " + terminal.OneLine(s.Description, 300)
	}
	switch m.kind() {
	case byCommand:
		command := terminal.CodeSpan(terminal.OneLine(p.Redact(s.Command), 1000))
		line += "\n  " + p.Words.Text(words.SignInCommand, command, p.userName())
	case byVariable:
		var names []string
		for _, name := range s.Variables {
			names = append(names, terminal.CodeSpan(terminal.OneLine(name, nameLength)))
		}
		line += "\n  " + p.Words.Text(words.SignInVariables, len(names), strings.Join(names, ", "))
	case byAgent:
		line += " (terminal.acp.authMethod " + strconv.Quote(m.ID) + ")"
	case byUnknown:
	}
	return line
}

// userName returns the name of the user that the agent runs as, or the ID of one without a name.
func (p Place) userName() string {
	var found *user.User
	var err error
	if p.User != nil {
		id := strconv.FormatUint(uint64(p.User.Uid), 10)
		if found, err = user.LookupId(id); err != nil {
			return id
		}
	} else if found, err = user.Current(); err != nil {
		return "?"
	}
	return found.Username
}
