// Package agentstest supports tests with real agents: it installs them from npm, and provides a
// language model on loopback for them. It does not know the Agent Client
// Protocol.
package agentstest

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
)

// Agent is the command line of a real agent.
type Agent struct {
	Command string
	Env     map[string]string
}

// newAgent returns an agent with a home of its own, so that it has no settings and no account.
func newAgent(t testing.TB, command string, env map[string]string) Agent {
	t.Helper()
	env["PATH"] = nodeFolder(t) + string(filepath.ListSeparator) + os.Getenv("PATH")
	env["HOME"] = t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		env[name] = filepath.Join(env["HOME"], name)
	}
	return Agent{command, env}
}

// writeFile writes a file in the agent's home.
func (a Agent) writeFile(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(a.Env["HOME"], name)
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Do(t, os.WriteFile(path, []byte(content), 0o600))
}

// ClaudeCode returns Claude Code with its adapter, for a model at url.
func ClaudeCode(t testing.TB, url string) Agent {
	t.Helper()
	return newAgent(t, install(t, "@agentclientprotocol/claude-agent-acp@0.99.1", "claude-agent-acp"), map[string]string{
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1", "ENABLE_TOOL_SEARCH": "false",
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	})
}

// Codex returns Codex with its adapter, for a model at url. The name of the model is one that Codex
// knows, as it warns of others in every turn.
func Codex(t testing.TB, url string) Agent {
	t.Helper()
	a := newAgent(t, install(t, "@agentclientprotocol/codex-acp@2.6.0", "codex-acp"), map[string]string{"NO_BROWSER": "1", "INITIAL_AGENT_MODE": "workspace-write"})
	a.writeFile(t, ".codex/config.toml", `model = "gpt-5.5"
model_provider = "loopback"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.loopback]
name = "loopback"
base_url = "`+url+`/v1"
wire_api = "responses"
`)
	return a
}

// OpenCode returns OpenCode, for a model at url. It asks before it runs commands.
func OpenCode(t testing.TB, url string) Agent {
	t.Helper()
	cfg := `{"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"` + url + `/v1","apiKey":"x"},"models":{"fake":{"tool_call":true}}}},` +
		`"model":"fake/fake","small_model":"fake/fake","permission":{"bash":"ask"},"autoupdate":false,"share":"disabled"}`
	return newAgent(t, install(t, "opencode-ai@1.18.33", "opencode")+" acp", map[string]string{
		"OPENCODE_CONFIG_CONTENT": cfg, "OPENCODE_DISABLE_MODELS_FETCH": "1",
	})
}

// Gemini returns the Gemini CLI, for a model at url. With a fixed model it does not ask which model
// is best for each prompt. In a folder that it does not trust it starts no MCP servers.
func Gemini(t testing.TB, url string) Agent {
	t.Helper()
	a := newAgent(t, install(t, "@google/gemini-cli@0.61.0", "gemini")+" --acp", map[string]string{
		"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": "gemini-2.5-flash",
		"GEMINI_CLI_TRUST_WORKSPACE": "true",
	})
	a.writeFile(t, ".gemini/settings.json", `{"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
	return a
}

// Kimi returns Kimi Code, for a model at url.
func Kimi(t testing.TB, url string) Agent {
	t.Helper()
	a := newAgent(t, install(t, "@moonshot-ai/kimi-code@2.1.0", "kimi")+" acp", map[string]string{"KIMI_CODE_NO_AUTO_UPDATE": "1"})
	a.writeFile(t, ".kimi-code/config.toml", `default_model = "fake"
telemetry = false
[providers.loopback]
type = "openai"
base_url = "`+url+`/v1"
api_key = "x"
[models.fake]
provider = "loopback"
model = "fake"
max_context_size = 100000
`)
	return a
}
