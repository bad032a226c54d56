package acp

import (
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
)

// authMethod is a sign-in method that an agent offers.
type authMethod struct {
	Type        rpc.Optional[string] `json:"type"` // "": the agent signs in by itself
	ID          string               `json:"id"`
	Name        string               `json:"name"`
	Description rpc.Optional[string] `json:"description"`
	// Args and Env are added to the agent's command, for the type terminal.
	Args rpc.Optional[[]string]          `json:"args"`
	Env  rpc.Optional[map[string]string] `json:"env"`
	// Vars are the variables of the type env_var.
	Vars rpc.Optional[[]authVariable] `json:"vars"`
	Meta rpc.Optional[authMeta]       `json:"_meta"`
}

// authVariable is an environment variable that the agent reads.
type authVariable struct {
	Name string `json:"name"`
}

// authMeta is the form of agents that predate the type terminal.
type authMeta struct {
	Terminal rpc.Optional[struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
	}] `json:"terminal-auth"`
}

// signInKind is who signs in, and how.
type signInKind int

const (
	signInByAgent    signInKind = iota // by the method authenticate
	signInByCommand                    // a person runs a command
	signInByVariable                   // a person sets variables
	signInUnknown                      // a type that nanobot does not know
)

func (m authMethod) kind() signInKind {
	switch m.Type.V {
	case "terminal":
		return signInByCommand
	case "env_var":
		return signInByVariable
	case "", "agent":
		if m.Meta.V.Terminal.V.Command != "" {
			return signInByCommand
		}
		return signInByAgent
	}
	return signInUnknown
}

// signInMethod returns the method as `nanobot login` needs it. command is the agent's.
func (m authMethod) signInMethod(command string) terminal.SignInMethod {
	s := terminal.SignInMethod{ID: m.ID, Name: m.label(), Description: m.Description.V}
	switch m.kind() {
	case signInByCommand:
		env := m.Env.V
		if old := m.Meta.V.Terminal; m.Type.V == "" && old.OK {
			s.Command, env = joinWords(append([]string{old.V.Command}, old.V.Args...)), old.V.Env
		} else {
			s.Command = strings.TrimSpace(command + " " + joinWords(m.Args.V))
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			s.Env = append(s.Env, name+"="+env[name])
		}
	case signInByVariable:
		for _, v := range m.Vars.V {
			if v.Name != "" {
				s.Variables = append(s.Variables, v.Name)
			}
		}
	case signInByAgent, signInUnknown:
	}
	return s
}

func (m authMethod) label() string {
	if m.Name == "" {
		return m.ID
	}
	return m.Name
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

// signInText says that somebody has to sign in, and how.
func (x *turn) signInText(e *authError) string {
	w := x.t.Words
	lines := []string{w.Text(words.SignInRequired, terminal.OneLine(e.message, 300))}
	for _, m := range e.methods {
		lines = append(lines, "• "+x.signInLine(m))
	}
	return strings.Join(lines, "\n")
}

// signInLine describes one method.
func (x *turn) signInLine(m authMethod) string {
	w := x.t.Words
	s := m.signInMethod(visibleCommand(x.cfg.Command, x.t.Final.Reveal))
	line := terminal.OneLine(s.Name, titleLength)
	if s.Description != "" {
		line += ": " + terminal.OneLine(s.Description, 300)
	}
	switch m.kind() {
	case signInByCommand:
		command := terminal.CodeSpan(terminal.OneLine(x.t.Redact(s.Command), 1000))
		line += "\n  " + w.Text(words.SignInCommand, command, x.agentUser())
	case signInByVariable:
		var names []string
		for _, name := range s.Variables {
			names = append(names, terminal.CodeSpan(terminal.OneLine(name, titleLength)))
		}
		line += "\n  " + w.Text(words.SignInVariables, len(names), strings.Join(names, ", "))
	case signInByAgent:
		line += " (terminal.acp.authMethod " + strconv.Quote(m.ID) + ")"
	case signInUnknown:
	}
	return line
}

// agentUser returns the name of the user that the agent runs as, or the ID of one without a name.
func (x *turn) agentUser() string {
	var found *user.User
	var err error
	if cred := x.t.ExecEnv().User; cred != nil {
		id := strconv.FormatUint(uint64(cred.Uid), 10)
		if found, err = user.LookupId(id); err != nil {
			return id
		}
	} else if found, err = user.Current(); err != nil {
		return "?"
	}
	return found.Username
}
