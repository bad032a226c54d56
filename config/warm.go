package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/placeholder"
)

// Warm configures the processes of the agent that are started before their message.
type Warm struct {
	Chats int      `json:"chats" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"In how many chats, those used last, the next process starts when a turn ends."`
	Spare int      `json:"spare" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"How many processes wait for other chats; none where the sandbox depends on the chat."`
	For   int      `json:"for" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds after which a waiting process is ended; a spare one is replaced."`
	Watch []string `json:"watch" jsonschema_description:"More files whose change makes a waiting process unusable, such as lib/*.py or prompts/**."`
}

// On reports whether processes are started before their message.
func (w Warm) On() bool { return w.Chats > 0 || w.Spare > 0 }

// CanWarm reports whether processes of the agent in Terminal are started before their message.
func (c *Config) CanWarm() bool { return c.Terminal.Warm.On() && c.warmObstacle(c.Terminal) == "" }

// messageVariables are the variables of a single message, which a process that is started before it
// does not have.
var messageVariables = []string{TextVariable, TruncatedVariable, UserIDVariable, UserNameVariable, "NANOBOT_RUN"}

// chatVariables are the variables of a chat, which a spare process does not have.
var chatVariables = []string{ChatIDVariable, UserDataDirVariable, TokenVariable}

// warmObstacle says why an agent's process cannot be started before its message; "": it can.
func (c *Config) warmObstacle(t Terminal) string {
	command, err := placeholder.Parse(t.Shell, t.Command)
	switch {
	case err != nil || t.Command == "":
		return "there is no command"
	case !c.extensions.protocol(t.Protocol).SupportsWarm:
		return fmt.Sprintf("protocol %q starts its processes in another way", t.Protocol)
	case command.HasPlaceholder():
		return "the command contains {message}"
	case t.Stdin != "envelope":
		return fmt.Sprintf("stdin is %q", t.Stdin)
	}
	return ""
}

func checkWarm(t agentSection) []Problem {
	var all []Problem
	for i, pattern := range t.Warm.Watch {
		at := joinPath(t.keyPath("warm"), "watch", strconv.Itoa(i))
		if isBlank(pattern) || pattern == "" {
			all = append(all, Problem{Path: at, Text: "must be a pattern such as lib/*.py"})
		} else if _, err := filepath.Match(pattern, ""); err != nil {
			all = append(all, Problem{Path: at, Text: fmt.Sprintf("%q is no pattern: a [ has no ]", pattern)})
		}
	}
	return all
}

// warnWarm returns the warnings about processes that are started before their message.
func (c *Config) warnWarm(t agentSection) []string {
	if !t.Warm.On() {
		return nil
	}
	if obstacle := c.warmObstacle(*t.Terminal); obstacle != "" {
		return []string{fmt.Sprintf("%s.warm has no effect: %s, so a process cannot be started before its message",
			t.dottedKey, obstacle)}
	}
	var all []string
	missing := messageVariables
	if t.Warm.Spare > 0 {
		missing = slices.Concat(missing, chatVariables)
	}
	for _, name := range missing {
		if namesVariable(t.Command, name) {
			all = append(all,
				fmt.Sprintf("%s.command names $%s, which a process does not have if %[1]s.warm starts it before the message: "+
					"read the envelope instead", t.dottedKey, name))
		}
	}
	return all
}

// namesVariable reports whether a command contains the name of a variable as a whole word.
func namesVariable(command, name string) bool {
	for rest := command; ; {
		at := strings.Index(rest, name)
		if at < 0 {
			return false
		}
		if rest = rest[at+len(name):]; rest == "" || !isWordByte(rest[0]) {
			return true
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
