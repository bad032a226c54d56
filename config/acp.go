package config

import (
	"slices"
	"strings"
)

// ACP says how an agent of the Agent Client Protocol is treated.
type ACP struct {
	Permissions string `json:"permissions" jsonschema:"enum=ask,enum=allow-reads,enum=allow,enum=deny" jsonschema_description:"Who decides when the agent asks for permission, or has the gateway read or write files or run commands without asking: ask the person, allow what only reads and ask for the rest, allow all, deny all."`
	// Rules go before Permissions.
	Rules      map[string]string `json:"rules" jsonschema_description:"Exceptions by kind of tool (read, edit, delete, move, search, execute, think, fetch, switch_mode, other): ask, allow or deny."`
	AskTimeout int               `json:"askTimeout" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds a person has to answer; then it is a no."`
	Idle       int               `json:"idle" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds an agent is kept after its last turn."`
	MaxKept    int               `json:"maxKept" jsonschema:"minimum=1,maximum=10000" jsonschema_description:"Agents that are kept at most; the one longest idle goes first."`
	Files      bool              `json:"files" jsonschema_description:"Let the agent read and write files through the gateway, within the workspace and the chat's folder."`
	Terminals  bool              `json:"terminals" jsonschema_description:"Let the agent run commands through the gateway."`
	// TerminalTimeout is in seconds, TerminalMemory in MiB.
	TerminalTimeout int    `json:"terminalTimeout" jsonschema:"minimum=1,maximum=315360000" jsonschema_description:"Seconds such a command may run."`
	TerminalMemory  int    `json:"terminalMemory" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"MiB of address space such a command may use; 0: no limit."`
	AuthMethod      string `json:"authMethod" jsonschema_description:"Id of the agent's own way to sign in, when it asks for one."`
}

// toolKinds are the kinds of tool that the Agent Client Protocol knows.
var toolKinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}

// asks tells whether there is anything that a person is asked about.
func (a ACP) asks() bool {
	asks := a.Permissions == "ask" || a.Permissions == "allow-reads"
	for _, rule := range a.Rules {
		asks = asks || rule == "ask"
	}
	return asks
}

func checkACP(t Terminal) []fault {
	var all []fault
	if strings.Contains(t.Command, Placeholder) {
		all = append(all, fault{
			path: key("terminal.command"), because: key("terminal.protocol"),
			want: "must not contain " + Placeholder + `, because an agent of terminal.protocol "acp" is started once for many messages`,
		})
	}
	for kind, rule := range t.ACP.Rules {
		path := join(key("terminal.acp.rules"), kind)
		if !slices.Contains(toolKinds, kind) {
			all = append(all, fault{path: path, want: "must be a kind of tool: " + strings.Join(toolKinds, ", "), onKey: true})
		}
		if !slices.Contains([]string{"ask", "allow", "deny"}, rule) {
			all = append(all, fault{path: path, want: "must be ask, allow or deny"})
		}
	}
	return all
}
