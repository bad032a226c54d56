package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

const canaryNumber = 8675309123

// secretKeys are keys, existing or misspelt, at which somebody may write a secret.
var secretKeys = []string{
	"channels.telegram.token", "channels.discord.token", "terminal.env.NAME", "terminal.providers.name.apiKeys",
	"terminal.providers.name.apiKeys.0", "terminal.providers.name.models", "terminal.providers.name.models.0",
	"terminal.providers.name.baseUrl", "terminal.providers.name", "terminal.providers", "terminal.env",
	"terminal", "channels", "channels.telegram", "channels.discord", "channels.web", "telegram", "token",
	"channels.telegram.tokn", "channels.telegram.apiKeys", "terminal.apiKeys", "providers", "env.NAME",
	"terminal.providers.name.apikeys", "terminal.providers.name.key", "agents.coder.env.NAME", "agents.coder.providers.name.apiKeys",
	"agents.coder.providers.name.apiKeys.0", "agents.coder.providers", "agents.coder", "agents", "agents.coder.apiKeys",
	"terminal.mcpServers", "terminal.mcpServers.name", "terminal.mcpServers.name.env.NAME", "terminal.mcpServers.name.headers.NAME", "terminal.mcpServers.name.url",
	"terminal.mcpServers.name.command", "terminal.mcpServers.name.args.0", "terminal.mcpServers.name.type", "agents.coder.mcpServers.name.env.NAME",
	"hooks.name.secret", "hooks.name.secrt", "hooks.name", "hooks",
}

// secretForms are values that contain the secret.
var secretForms = []any{
	canary, canary + " \n", "env:" + canary + "\x00", canaryNumber, -canaryNumber, 0.5 + canaryNumber,
	[]any{canary},
	[]any{canaryNumber},
	[]any{[]any{canary}},
	[]any{map[string]any{"a": canary}},
	map[string]any{"a": canary},
	map[string]any{"a": canaryNumber},
	"//" + canary + ":x@y",
}

// TestNoMistakeEverShowsASecret tries every sixth pair of a key and a form, so that each key and
// each form is tried, and all pairs with NANOBOT_LONG=1.
func TestNoMistakeEverShowsASecret(t *testing.T) {
	all := killtest.IsLong()
	for i, key := range secretKeys {
		for j, form := range secretForms {
			if !all && (i+j)%6 != 0 {
				continue
			}
			text := musttest.Get(json.Marshal(wrapInPath(strings.Split(key, "."), form)))(t)
			checkSecretHidden(t, string(text), nil)
			value, isString := form.(string)
			if !isString {
				b, _ := json.Marshal(form)
				value = string(b)
			}
			name := "NANOBOT_" + strings.ReplaceAll(key, ".", "__")
			checkSecretHidden(t, `{}`, []string{name + "=" + value})
			if isString {
				checkSecretHidden(t, `{}`, []string{name + "={" + value})
				checkSecretHidden(t, `{}`, []string{name + "=[" + value})
			}
		}
	}
}

func TestNoBrokenFileShowsASecret(t *testing.T) {
	text := fmt.Sprintf(`{"channels":{"telegram":{"token":%q},"discord":{"token":%d}},"terminal":{"env":{"A":%q},
		"providers":{"p":{"apiKeys":[%[1]q, %[2]d],"baseUrl":%[1]q}}}}`, canary, canaryNumber, canary)
	extras := []string{`"`, `\`, "\n", "\t", "\x00", "\xff", "'", "{", "]", ",", ":", "//", "/*", "#", "x"}
	all := killtest.IsLong()
	for i := range text {
		if !all && i%4 != 0 {
			continue
		}
		checkSecretHidden(t, text[:i], nil)
		checkSecretHidden(t, text[:i]+text[i+1:], nil)
		for j := range 2 {
			checkSecretHidden(t, text[:i]+extras[(2*i+j)%len(extras)]+text[i:], nil)
		}
	}
}

// wrapInPath wraps a value in the objects and lists of its path.
func wrapInPath(path []string, value any) any {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == "0" {
			value = []any{value}
		} else {
			value = map[string]any{path[i]: value}
		}
	}
	return value
}

// checkSecretHidden loads a configuration and checks that neither its mistakes nor its warnings
// contain the secret.
func checkSecretHidden(t *testing.T, text string, environ []string) {
	t.Helper()
	out := ""
	if c, err := config.Load(writeConfig(t, text), environ, extensions()); err != nil {
		out = fmt.Sprintf("%v %+v %#v", err, err, err)
	} else {
		out = fmt.Sprint(c.Warnings())
	}
	if strings.Contains(out, canary) || strings.Contains(out, fmt.Sprint(canaryNumber)) {
		t.Errorf("%s %q:\n%s", text, environ, out)
	}
}
