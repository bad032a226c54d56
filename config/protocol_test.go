package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal/acp"
)

func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return config.Load(path, nil, extensions())
}

func TestADefaultCommandBelongsToItsProtocol(t *testing.T) {
	c := musttest.Get(loadText(t, `{"terminal": {"protocol": "screen", "keys": {"shell": "/bin/sh"}}}`))(t)
	if c.Terminal.Command != "exec '/bin/sh'" || !c.Terminal.On() {
		t.Errorf("the command is %q", c.Terminal.Command)
	}
	c.SetProtocol("plain")
	if c.Terminal.Command != "" {
		t.Errorf("another protocol has the command %q", c.Terminal.Command)
	}
	c.SetProtocol("screen")
	if c.Terminal.Command != "exec '/bin/sh'" {
		t.Errorf("the command is %q", c.Terminal.Command)
	}
	c.Terminal.Command = "htop"
	c.SetProtocol("plain")
	if c.Terminal.Command != "htop" {
		t.Errorf("a command that was configured is %q", c.Terminal.Command)
	}
}

func TestAProtocolChecksTheSectionThatItShares(t *testing.T) {
	_, err := loadText(t, `{"terminal": {"protocol": "screen", "keys": {"shell": "bash"}}}`)
	if err == nil || !strings.Contains(err.Error(), "terminal.keys.shell: must be an absolute path") {
		t.Errorf("got %v", err)
	}
}

func TestADefaultTimeoutBelongsToItsProtocol(t *testing.T) {
	c := musttest.Get(loadText(t, `{"terminal": {"command": "x", "protocol": "acp"}, "agents": {
		"short": {"command": "y", "protocol": "acp", "timeout": 120}, "other": {"command": "z"}, "long": {"command": "z", "protocol": "acp"}}}`))(t)
	if got := []int{c.Terminal.Timeout, c.Agents["short"].Timeout, c.Agents["other"].Timeout, c.Agents["long"].Timeout}; !slices.Equal(got, []int{3600, 120, 120, 3600}) {
		t.Errorf("the timeouts are %v", got)
	}
	c.SetProtocol("plain")
	if c.Terminal.Timeout != 120 {
		t.Errorf("with plain it is %d", c.Terminal.Timeout)
	}
	c.SetProtocol("acp")
	if c.Terminal.Timeout != 3600 {
		t.Errorf("with acp it is %d", c.Terminal.Timeout)
	}
}

func TestACommandOfAnACPAgentMayHaveNoTimeLimit(t *testing.T) {
	c := musttest.Get(loadText(t, `{"terminal": {"command": "x", "protocol": "acp", "acp": {"terminalTimeout": 0}}}`))(t)
	if got := acp.SettingsOf(c.Terminal).TerminalTimeout; got != 0 {
		t.Errorf("the limit is %d", got)
	}
}
