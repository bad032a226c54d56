package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
)

func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(path, nil, extensions())
}

func TestADefaultCommandBelongsToItsProtocol(t *testing.T) {
	c, err := loadText(t, `{"terminal": {"protocol": "screen", "keys": {"shell": "/bin/sh"}}}`)
	if err != nil {
		t.Fatal(err)
	}
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
