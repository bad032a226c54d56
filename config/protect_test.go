package config_test

import (
	"testing"

	"nanobot/internal/wanttest"
)

func TestEachAgentHasItsOwnProtectedFiles(t *testing.T) {
	c := loadConfig(t, `{"terminal":{"command":"x","protocol":"blocks","protect":["Makefile","ci/*.sh","deploy/","*.tf",".hidden","a b"]},
		"agents":{"coder":{"command":"y","protocol":"acp"}}}`, "NANOBOT_AGENTS__CODER__PROTECT=one,two/three")
	if got := c.Terminal.Protect; len(got) != 6 {
		t.Errorf("terminal has %q", got)
	}
	wanttest.EqualSlices(t, "coder has", c.Agents["coder"].Protect, []string{"one", "two/three"})
}
