package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
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
	if c.Terminal.Command != "exec /bin/sh" || !c.Terminal.On() {
		t.Errorf("the command is %q", c.Terminal.Command)
	}
	c.SetProtocol("plain")
	wanttest.Equal(t, "another protocol has the command", c.Terminal.Command, "")
	c.SetProtocol("screen")
	wanttest.Equal(t, "the command is", c.Terminal.Command, "exec /bin/sh")
	c.Terminal.Command = "htop"
	c.SetProtocol("plain")
	wanttest.Equal(t, "a command that was configured is", c.Terminal.Command, "htop")
}

func TestAProtocolChecksTheSectionThatItShares(t *testing.T) {
	_, err := loadText(t, `{"terminal": {"protocol": "screen", "keys": {"shell": "bash '"}}}`)
	if err == nil || !strings.Contains(err.Error(), "terminal.keys.shell: must be a program, with arguments") {
		t.Errorf("got %v", err)
	}
}

func TestADefaultTimeoutBelongsToItsProtocol(t *testing.T) {
	c := musttest.Get(loadText(t, `{"terminal": {"command": "x", "protocol": "acp"}, "agents": {
		"short": {"command": "y", "protocol": "acp", "timeout": 120}, "other": {"command": "z"}, "long": {"command": "z", "protocol": "acp"}}}`))(t)
	wanttest.EqualSlices(t, "the timeouts are", []int{c.Terminal.Timeout, c.Agents["short"].Timeout, c.Agents["other"].Timeout, c.Agents["long"].Timeout}, []int{3600, 120, 120, 3600})
	c.SetProtocol("plain")
	wanttest.Equal(t, "with plain it is", c.Terminal.Timeout, 120)
	c.SetProtocol("acp")
	wanttest.Equal(t, "with acp it is", c.Terminal.Timeout, 3600)
}

func TestACommandOfAnACPAgentMayHaveNoTimeLimit(t *testing.T) {
	c := musttest.Get(loadText(t, `{"terminal": {"command": "x", "protocol": "acp", "acp": {"terminalTimeout": 0}}}`))(t)
	wanttest.Equal(t, "the limit is", acp.SettingsOf(c.Terminal).TerminalTimeout, 0)
}
