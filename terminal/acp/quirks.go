package acp

import (
	"path/filepath"
	"regexp"
	"strings"

	"nanobot/terminal/process"
)

// quirks are how one agent deviates from the protocol, or from what people expect of it.
type quirks struct {
	agent string // part of agentInfo.name, in lower case
	// filesAsPaths means that a file which is neither plain text nor a picture is named in the text
	// of a prompt instead of linked.
	filesAsPaths bool
	// askTool is the name of the gateway's tool ask_user; "": the usual one.
	askTool string
	// modeUpdate begins a message in which the agent reports its new mode; "": it has none.
	modeUpdate string
	// planHomes are the agent's own folders, relative to its home, in which it edits plans through
	// the client.
	planHomes []string
	// withoutTools says why the agent may not have connected to the gateway's MCP tools, and what
	// to do, for `nanobot doctor`.
	withoutTools string
	// debugStderr means that the agent's stderr is mostly debug output.
	debugStderr bool
}

// trustGemini is why Gemini CLI may have no tools. nanobot does not set the variable, because of
// what it allows.
const trustGemini = "Gemini CLI starts no MCP servers in a folder that it does not trust; with " +
	"GEMINI_CLI_TRUST_WORKSPACE=true in terminal.env it trusts its folder, and then also uses the settings, .env file, " +
	"extensions and MCP servers in it"

// quirkTable has a row for each agent that needs one, with the reasons.
var quirkTable = []quirks{
	// A prompt with a file of another type fails, and so does every later one of its conversation:
	// https://github.com/anomalyco/opencode/pull/38126
	{agent: "opencode", filesAsPaths: true},
	// Tools with the name of its own tool are dropped, too:
	// https://github.com/google-gemini/gemini-cli/pull/23045
	// No MCP server starts in an untrusted folder: https://geminicli.com/docs/cli/trusted-folders
	{agent: "gemini-cli", askTool: "ask_person", modeUpdate: "[MODE_UPDATE] ", withoutTools: trustGemini},
	// Plans are outside of the workspace: https://github.com/MoonshotAI/kimi-cli/issues/1745 and
	// https://github.com/MoonshotAI/kimi-code/issues/1240
	{agent: "kimi", planHomes: []string{".kimi-code", ".kimi"}},
	// The adapter and the SDK write their logs to stderr:
	// https://github.com/agentclientprotocol/claude-agent-acp/issues/570
	{agent: "claude-agent-acp", debugStderr: true},
}

// quirksOf returns the quirks of the agent that reports this name.
func quirksOf(name string) quirks {
	for _, q := range quirkTable {
		if strings.Contains(strings.ToLower(name), q.agent) {
			return q
		}
	}
	return quirks{}
}

// planFolders returns the folders of planHomes in a home.
func (q quirks) planFolders(home string) (folders []string) {
	for _, name := range q.planHomes {
		if home != "" {
			folders = append(folders, filepath.Join(home, name))
		}
	}
	return folders
}

// errorLine is a line with which a program of Node reports the error that ended it.
var errorLine = regexp.MustCompile(`(?m)^(Uncaught )?\w*Error: .*$`)

// endStderr returns what people are shown of the stderr of an agent that has exited, and the
// rest for the log.
func (q quirks) endStderr(all *process.Bounded) (shown *process.Bounded, logged string) {
	if !q.debugStderr {
		return all, ""
	}
	logged = all.String()
	shown = process.NewBounded(0, len(logged))
	if lines := errorLine.FindAllString(logged, -1); len(lines) > 0 {
		_, _ = shown.Write([]byte(lines[len(lines)-1]))
	}
	return shown, strings.TrimSpace(logged)
}
