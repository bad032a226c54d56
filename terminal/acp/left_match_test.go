package acp

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/acp/view"
)

func TestAShortCommandIsRecognizedOnlyAsAWholeArgument(t *testing.T) {
	for _, c := range []struct {
		command string
		args    []string
		want    bool
	}{
		{"ls", []string{"sh", "-c", "ls"}, true},
		{"ls", []string{"ls"}, true},
		{"ls", []string{"node", "tools/server.js"}, false},
		{"bash", []string{"bash", "-c", "npm run dev"}, false},
		{"make", []string{"node", "makefile-server"}, false},
		{"sleep 12; echo x", []string{"bash", "-lc", "cd /w && sleep 12; echo x"}, true},
	} {
		left := leftCommand{OpenCommand: view.OpenCommand{Command: c.command}}
		wanttest.Equal(t, c.command+" in the arguments:", left.isIn(c.args), c.want)
	}
}
