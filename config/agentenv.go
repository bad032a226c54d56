package config

import "slices"

// The variables that tell an agent about the message that it works on. They begin like those that
// set keys, and set none, so that an agent can run nanobot itself.
const (
	TextVariable        = "NANOBOT_TEXT"
	TruncatedVariable   = "NANOBOT_TEXT_TRUNCATED" // 1: the text is longer than what a variable holds
	ChatIDVariable      = "NANOBOT_CHAT_ID"
	UserIDVariable      = "NANOBOT_USER_ID"
	UserNameVariable    = "NANOBOT_USER_NAME"
	UserDataDirVariable = "NANOBOT_USER_DATA_DIR"
	TokenVariable       = "NANOBOT_CHAT_TOKEN" // proves to the gateway which chat the process works for
	SocketVariable      = "NANOBOT_SOCKET"     // where the daemon serves its tools
)

// agentVariables are all variables of ours in an agent's environment. The last three name the turn,
// the daemon and the process.
var agentVariables = []string{
	TextVariable, TruncatedVariable, ChatIDVariable, UserIDVariable, UserNameVariable, UserDataDirVariable, TokenVariable, SocketVariable,
	"NANOBOT_RUN", "NANOBOT_KEPT", "NANOBOT_CHILD",
}

// reserved are the variables that begin like ours and set no key.
func reserved(name string) bool {
	return name == "NANOBOT_CONFIG" || slices.Contains(agentVariables, name) || describesService(name)
}
