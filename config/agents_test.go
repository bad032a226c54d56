package config_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/wanttest"
)

func TestAgentsHaveTheDefaultsOfTerminalAndNotItsValues(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x","timeout":7,"env":{"A":"1"}},"agents":{"b":{"command":"y"},"a":{"command":"z","timeout":8}}}`)
	wanttest.EqualSlices(t, "the agents are", c.AgentNames(), []string{"default", "a", "b"})
	b, found := c.ForAgent("b")
	if !found || b.Terminal.Command != "y" || b.Terminal.Timeout != 120 || len(b.Terminal.Env) != 0 || b.AgentKey() != "agents.b" {
		t.Errorf("b is %+v in %s", b.Terminal, b.AgentKey())
	}
	if d, found := c.ForAgent("default"); !found || d.Terminal.Timeout != 7 || d.AgentKey() != "terminal" {
		t.Errorf("default is %+v", d.Terminal)
	}
	if _, found := c.ForAgent("c"); found {
		t.Error("there is an agent that is not configured")
	}
	if c.Terminal.Command != "x" || len(c.Agents) != 2 {
		t.Error("the configuration was changed")
	}
}

func TestTheAgentsOfAProtocolAreCountedIfTheyAreOn(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x","protocol":"acp"},"agents":{"b":{"command":"y"},"a":{"command":"z","protocol":"acp"},"off":{"command":"z","protocol":"acp","enabled":false}}}`)
	for _, name := range c.AgentNames() {
		own, _ := c.ForAgent(name)
		wanttest.Equal(t, "agents with acp, for "+name+":", own.CountProtocol("acp"), 2)
	}
}

func TestVariablesSetTheKeysOfAgents(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x"},"agents":{"coder":{"command":"y","timeout":7}}}`,
		"NANOBOT_AGENTS__CODER__TIMEOUT=8", "NANOBOT_AGENTS__coder__LIMITS__FILES=9", "NANOBOT_AGENTS__CODER__ENV__My__Key=v", "NANOBOT_AGENTS__CODER__ACP__IDLE=10",
		"NANOBOT_AGENTS__CODER__PROVIDERS__p__APIKEYS=k1,k2", `NANOBOT_AGENTS__writer={"command":"w","progress":"off"}`)
	coder, writer := c.Agents["coder"], c.Agents["writer"]
	if coder.Command != "y" || coder.Timeout != 8 || coder.Limits.Files != 9 || coder.Env["My__Key"] != "v" || len(coder.Providers["p"].APIKeys) != 2 {
		t.Errorf("coder is %+v", coder)
	}
	if writer == nil || writer.Command != "w" || writer.Progress != "off" {
		t.Errorf("writer is %+v", writer)
	}
}

// An agent must not see the secrets of the other agents, except those that it has itself.
func TestTheSecretsOfOtherAgentsAreKeptFromAnAgent(t *testing.T) {
	c := loadConfig(t, `{
		"terminal": {"command":"x","providers":{"p":{"apiKeys":["env:SHARED","env:OF_DEFAULT"]}}},
		"agents": {
			"coder": {"command":"y","providers":{"p":{"apiKeys":["env:SHARED","of-coder"]}}},
			"plain": {"command":"z"}
		},
		"http": {"token": "of-http-that-is-long"}
	}`)
	for name, want := range map[string][]config.Secret{
		"default": {"of-http-that-is-long", "of-coder"}, "coder": {"of-http-that-is-long", "env:OF_DEFAULT"}, "plain": {"of-http-that-is-long", "env:SHARED", "of-coder", "env:SHARED", "env:OF_DEFAULT"},
	} {
		view, _ := c.ForAgent(name)
		got := view.SecretsToHide()
		slices.Sort(got)
		slices.Sort(want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is kept from %d secrets, want %d", name, len(got), len(want))
		}
	}
}

func TestWithoutCredentialsRemovesTheCredentialsOfAgents(t *testing.T) {
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	c := loadConfig(t, `{"terminal":{"command":"x"},"agents":{"coder":{"command":"y","providers":{"p":{"apiKeys":["cred:k","plain"]}}}}}`)
	if got := c.WithoutCredentials().Agents["coder"].Providers["p"].APIKeys; len(got) != 1 || string(got[0]) != "plain" {
		t.Errorf("%d keys are left", len(got))
	}
	if got := c.Agents["coder"].Providers["p"].APIKeys; len(got) != 2 {
		t.Error("the configuration was changed")
	}
}

func TestWarningsNameTheAgent(t *testing.T) {
	c := loadConfig(t, `{
		"terminal": {"command":"x","protocol":"rich"},
		"agents": {
			"plain": {"command":"grep -- {message} notes","cwd":"nowhere","providers":{"p":{"apiKeys":["k"]}}},
			"off": {"enabled":false}
		},
		"gateway": {"whileRunning":"inject"}
	}`)
	got := strings.Join(c.Warnings(), "\n")
	for _, want := range []string{
		`agents.plain.cwd: there is no folder `, `agents.plain.command has {message} and agents.plain.stdin is "envelope"`,
		`gateway.whileRunning is "inject", which agents.plain does not support: its messages wait in the queue`,
		`agents.off.enabled is false: the agent only says that it is switched off`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no warning %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "terminal.") {
		t.Errorf("the default agent is blamed:\n%s", got)
	}
}
