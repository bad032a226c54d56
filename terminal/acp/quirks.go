package acp

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
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

// translateModeUpdate returns the protocol's update for a message that reports the new mode, which
// is not for people, and any other update as it is. A model can write the same text, so it counts
// only for one of the agent's modes, and never in a replay, which is about earlier times. The
// caller holds mu.
func (s *session) translateModeUpdate(u update) update {
	if u.Kind != "agent_message_chunk" || s.replaying || s.agent.quirks.modeUpdate == "" {
		return u
	}
	var chunk struct {
		Content rpc.Optional[rpc.Block] `json:"content"`
	}
	_ = json.Unmarshal(u.Raw, &chunk) // an update without content is handled later
	mode, ok := strings.CutPrefix(chunk.Content.V.Text, s.agent.quirks.modeUpdate)
	c := s.details.find(modeChoice)
	if !ok || c == nil || !slices.ContainsFunc(c.options, func(o form.Option) bool { return o.Value == mode }) {
		return u
	}
	raw, err := json.Marshal(map[string]string{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	if err != nil {
		return u
	}
	return update{u.session, "current_mode_update", raw}
}

// steerMethod adds a message to the prompt that the agent works on. It is an extension of Codex and
// others: https://github.com/MoonshotAI/kimi-code/issues/2370
const steerMethod = "_session/steering"

// handleSteered handles the response to a message that was added to the running prompt. An agent
// that has just ended that prompt does not take the message, which then waits for its own turn.
func (p *prompts) handleSteered(k *prompt, result json.RawMessage, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var got struct {
		Outcome string `json:"outcome"`
	}
	if err == nil {
		_ = rpc.DecodeLenient(result, &got) // a response without an outcome is a refusal
	}
	p.open = slices.DeleteFunc(p.open, func(other *prompt) bool { return other == k })
	switch {
	case got.Outcome == "injected" || got.Outcome == "startedNewTurn":
		p.recordRead(k)
	case !errors.Is(err, rpc.ErrGone):
		p.refused = append(p.refused, k.injected)
		p.a.Log("info", steerMethod+": "+got.Outcome)
	}
	if len(p.open) > 0 {
		signal(p.answered)
		return
	}
	p.end(p.err)
}
