package config_test

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
)

func TestTheTransportOfAnMCPServerDependsOnItsKeys(t *testing.T) {
	for want, servers := range map[string][]config.MCPServer{
		config.MCPStdio: {{Command: "a"}, {Type: "stdio", Command: "a"}},
		config.MCPHTTP:  {{URL: "https://example.com"}, {Type: "http", URL: "https://example.com"}},
		config.MCPSSE:   {{Type: "sse", URL: "https://example.com"}},
	} {
		for _, s := range servers {
			if got := s.Transport(); got != want {
				t.Errorf("%+v: %s, want %s", s, got, want)
			}
		}
	}
}

func TestVariablesSetTheKeysOfMCPServers(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x","protocol":"acp"},"agents":{"coder":{"command":"y","protocol":"acp"}}}`,
		`NANOBOT_TERMINAL__MCPSERVERS={"all":{"command":"a"}}`, `NANOBOT_TERMINAL__MCPSERVERS__whole={"url":"https://example.com"}`,
		"NANOBOT_AGENTS__CODER__MCPSERVERS__my__files__COMMAND=b", "NANOBOT_AGENTS__CODER__MCPSERVERS__my__files__ARGS=c,d",
		`NANOBOT_AGENTS__CODER__MCPSERVERS__my__files__ENV__OPTIONS={"a":1}`, "NANOBOT_AGENTS__CODER__APPROVERS=telegram:1,discord:2")
	if got := c.Terminal.MCPServers; !reflect.DeepEqual(got, map[string]config.MCPServer{"all": {Command: "a"}, "whole": {URL: "https://example.com"}}) {
		t.Errorf("terminal has %+v", got)
	}
	coder := c.Agents["coder"]
	if got := coder.MCPServers["my__files"]; got.Command != "b" || !slices.Equal(got.Args, []string{"c", "d"}) || string(got.Env["OPTIONS"]) != `{"a":1}` {
		t.Errorf("coder has %+v", coder.MCPServers)
	}
	wanttest.EqualSlices(t, "the approvers of coder are", coder.Approvers, []string{"telegram:1", "discord:2"})
}

// Texts that contain a secret of another agent are hidden from an agent, so a literal value such as
// DEBUG=1 must not count as a secret.
func TestTheSecretsOfAnAgentsMCPServersAreKeptFromOthers(t *testing.T) {
	c := loadConfig(t, `{
		"terminal": {"command":"x"},
		"agents": {"coder": {"command":"y","protocol":"acp","mcpServers":{
			"a": {"command":"a","env":{"DEBUG":"1","KEY":"env:OF_CODER","FILE":"file:key"}},
			"b": {"url":"https://example.com","headers":{"Authorization":"Bearer abc"}}
		}}}
	}`)
	got := c.SecretsToHide()
	slices.Sort(got)
	want := []config.Secret{"Bearer abc", "env:OF_CODER", config.Secret("file:" + filepath.Join(filepath.Dir(c.File()), "key"))}
	wanttest.EqualSlices(t, "the default agent is kept from", got, want)
	wanttest.EqualSlices(t, "the files of secrets are", c.SecretFiles(), []string{filepath.Join(filepath.Dir(c.File()), "key")})
	coder, _ := c.ForAgent("coder")
	if got := coder.SecretsToHide(); len(got) != 0 {
		t.Errorf("coder is kept from %d secrets", len(got))
	}
}

func TestWithoutCredentialsRemovesMCPServersThatNeedOne(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	c := loadConfig(t, `{"terminal":{"command":"x","protocol":"acp","mcpServers":{
		"a": {"command":"a","env":{"KEY":"cred:k"}}, "b": {"url":"https://example.com","headers":{"A":"cred:k"}}, "c": {"command":"c","env":{"KEY":"v"}}
	}}}`)
	part := c.WithoutCredentials()
	if got := slices.Sorted(maps.Keys(part.Terminal.MCPServers)); !slices.Equal(got, []string{"c"}) || len(c.Terminal.MCPServers) != 3 {
		t.Errorf("%q are left of %d", got, len(c.Terminal.MCPServers))
	}
	if !c.Terminal.NeedsCredentials() || part.Terminal.NeedsCredentials() {
		t.Error("NeedsCredentials is wrong")
	}
}
