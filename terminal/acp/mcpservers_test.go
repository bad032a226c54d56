package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// withServers returns a function that configures one MCP server of each type.
func withServers(t *testing.T) func(*config.Terminal) {
	t.Setenv("ACPTEST_KEY", "of the environment")
	return func(c *config.Terminal) {
		c.MCPServers = map[string]config.MCPServer{
			"files":  {Command: "sh", Args: []string{"-c", "server"}, Env: map[string]config.Secret{"KEY": "env:ACPTEST_KEY", "B": "2"}},
			"local":  {Command: "./bin/server"},
			"search": {URL: "https://mcp.example.com/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer abc"}},
			"stream": {Type: "sse", URL: "https://mcp.example.com/sse"},
		}
	}
}

func TestASessionIsOpenedWithTheMCPServersThatTheAgentSupports(t *testing.T) {
	sh := ""
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "sh")); err == nil && sh == "" {
			sh = filepath.Join(dir, "sh")
		}
	}
	const (
		search = `{"type":"http","name":"search","url":"https://mcp.example.com/mcp","headers":[{"name":"Authorization","value":"Bearer abc"}]}`
		stream = `{"type":"sse","name":"stream","url":"https://mcp.example.com/sse","headers":[]}`
	)
	for flags, want := range map[string]struct {
		servers []string
		without []string // servers that the agent is not told of
	}{
		"-resume":           {nil, []string{"http, so search is left out", "sse, so stream is left out"}},
		"-load -http":       {[]string{search}, []string{"sse, so stream is left out"}},
		"-resume -http":     {[]string{search}, []string{"sse, so stream is left out"}},
		"-load -http -sse ": {[]string{search, stream}, nil},
	} {
		t.Run(flags, func(t *testing.T) {
			d := newFixture(t, flags, withServers(t))
			all := append([]string{
				`{"name":"files","command":"` + sh + `","args":["-c","server"],"env":[{"name":"B","value":"2"},{"name":"KEY","value":"of the environment"}]}`,
				`{"name":"local","command":"` + d.workspace + `/bin/server","args":[],"env":[]}`,
			}, want.servers...)
			given := "`[" + strings.Join(all, ",") + "]`"
			p := d.person("a")
			for range 2 { // a new session, and an earlier one that is brought back
				h := p.send("servers").expect(terminal.Done, given)
				for _, missing := range want.without {
					if log := h.text(terminal.Log); !strings.Contains(log, "the agent does not support MCP servers of type "+missing) {
						t.Errorf("nothing is said of %q: %s", missing, log)
					}
				}
				if log := h.text(terminal.Log); strings.Contains(log, "abc") || want.without == nil && strings.Contains(log, "MCP") {
					t.Errorf("logged %s", log)
				}
				d.restart()
			}
		})
	}
}

func TestASessionHasTheGatewaysOwnServerIfThereIsASocket(t *testing.T) {
	t.Parallel()
	program := musttest.Get(os.Executable())(t)
	d := newFixture(t, "-resume")
	p := d.person("a")
	p.token = "token-of-a"
	p.send("servers").expect(terminal.Done, "`[]`")
	d.socket = "/run/nanobot/tools.sock"
	d.restart()
	own := "`" + `[{"name":"nanobot","command":"` + program + `","args":["mcp"],"env":[{"name":"NANOBOT_SOCKET","value":"/run/nanobot/tools.sock"},` +
		`{"name":"NANOBOT_CHAT_TOKEN","value":"token-of-a"}]}]` + "`"
	p.send("servers").expect(terminal.Done, own) // brought back
	q := d.person("b")
	q.token = "token-of-b"
	q.send("servers").expect(terminal.Done, strings.Replace(own, "token-of-a", "token-of-b", 1)) // new
	d.cfg.MCPServers = map[string]config.MCPServer{"nanobot": {Command: "/opt/another", Args: []string{"serve"}}}
	d.restart()
	p.send("servers").expect(terminal.Done, "`"+`[{"name":"nanobot","command":"/opt/another","args":["serve"],"env":[]}]`+"`")
}

func TestASecretOfAnMCPServerThatCannotBeReadIsAnErrorOfTheStart(t *testing.T) {
	t.Parallel()
	for want, server := range map[string]config.MCPServer{
		"mcpServers.a.env.KEY: environment variable ACPTEST_MISSING is not set": {Command: "a", Env: map[string]config.Secret{"KEY": "env:ACPTEST_MISSING"}},
		"mcpServers.a.headers.Authorization: read secret: ":                     {URL: "https://example.com", Headers: map[string]config.Secret{"Authorization": "file:/nowhere"}},
	} {
		cfg := config.Default().Terminal
		cfg.Command, cfg.MCPServers = "true", map[string]config.MCPServer{"a": server}
		if _, err := terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Log: zap.NewNop()}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
