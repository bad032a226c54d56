package config

import "slices"

// Environment variables that describe the current message to an agent. They have the prefix of
// variables that set config keys, but set none, so that an agent can run nanobot itself.
const (
	TextVariable        = "NANOBOT_TEXT"
	TruncatedVariable   = "NANOBOT_TEXT_TRUNCATED" // "1" if the text was too long for an environment variable
	ChatIDVariable      = "NANOBOT_CHAT_ID"
	UserIDVariable      = "NANOBOT_USER_ID"
	UserNameVariable    = "NANOBOT_USER_NAME"
	UserDataDirVariable = "NANOBOT_USER_DATA_DIR"
	TokenVariable       = "NANOBOT_CHAT_TOKEN" // authenticates the process and identifies its chat
	SocketVariable      = "NANOBOT_SOCKET"     // path of the socket on which the daemon serves MCP tools
)

// agentVariables lists every variable that nanobot sets for an agent. The last three identify the
// turn, the daemon and the process.
var agentVariables = []string{
	TextVariable, TruncatedVariable, ChatIDVariable, UserIDVariable, UserNameVariable, UserDataDirVariable, TokenVariable, SocketVariable,
	"NANOBOT_RUN", "NANOBOT_KEPT", "NANOBOT_CHILD",
}

// isReservedVariable reports whether a variable has the prefix NANOBOT_ but sets no config key.
func isReservedVariable(name string) bool {
	return name == "NANOBOT_CONFIG" || slices.Contains(agentVariables, name) || isServiceVariable(name)
}
