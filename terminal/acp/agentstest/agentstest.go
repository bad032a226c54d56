// Package agentstest supports tests with real agents: it installs them from npm, and provides a
// language model on loopback for them. It does not know the Agent Client
// Protocol.
package agentstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Agent is the command line of a real agent.
type Agent struct {
	Command string
	Env     map[string]string
}

// ClaudeCode returns Claude Code with its adapter, for a model at url.
func ClaudeCode(t testing.TB, url string) Agent {
	t.Helper()
	return Agent{install(t, "@zed-industries/claude-code-acp@0.16.2", "claude-code-acp"), map[string]string{
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "IS_SANDBOX": "1", "HOME": t.TempDir(),
		"DISABLE_TELEMETRY": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}}
}

// OpenCode returns OpenCode, for a model at url. It asks before it runs commands.
func OpenCode(t testing.TB, url string) Agent {
	t.Helper()
	cfg := `{"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"` + url + `/v1","apiKey":"x"},"models":{"fake":{"tool_call":true}}}},` +
		`"model":"fake/fake","small_model":"fake/fake","permission":{"bash":"ask"},"autoupdate":false,"share":"disabled"}`
	return Agent{install(t, "opencode-ai", "opencode") + " acp", map[string]string{
		"OPENCODE_CONFIG_CONTENT": cfg, "HOME": t.TempDir(), "XDG_DATA_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "OPENCODE_DISABLE_MODELS_FETCH": "1",
	}}
}

// MCPClient installs the Model Context Protocol client from npm and returns the folder with its
// node_modules.
func MCPClient(t testing.TB) string {
	t.Helper()
	installOnce(t, "@modelcontextprotocol/sdk@1.32.2", filepath.Join("node_modules", "@modelcontextprotocol", "sdk"))
	return folder()
}

// install installs an agent and returns its program.
func install(t testing.TB, pkg, program string) string {
	t.Helper()
	return installOnce(t, pkg, filepath.Join("node_modules", ".bin", program))
}

// folder is the installation folder, which is kept between runs.
func folder() string { return filepath.Join(os.TempDir(), "nanobot-agents") }

// installOnce installs a package from npm unless it is installed, and returns the path of the
// requested file.
func installOnce(t testing.TB, pkg, brings string) string {
	t.Helper()
	path := filepath.Join(folder(), brings)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", folder(), pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("npm install %s: %v\n%s", pkg, err, out)
	}
	return path
}
