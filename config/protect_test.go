package config_test

import (
	"slices"
	"testing"
)

func TestEachAgentHasItsOwnProtectedFiles(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x","protocol":"blocks","protect":["Makefile","ci/*.sh","deploy/","*.tf",".hidden","a b"]},
		"agents":{"coder":{"command":"y","protocol":"acp"}}}`, "NANOBOT_AGENTS__CODER__PROTECT=one,two/three")
	if got := c.Terminal.Protect; len(got) != 6 {
		t.Errorf("terminal has %q", got)
	}
	if got := c.Agents["coder"].Protect; !slices.Equal(got, []string{"one", "two/three"}) {
		t.Errorf("coder has %q", got)
	}
}
