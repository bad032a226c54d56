package login

import "testing"

func TestVisibleCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, program, shown string }{
		{"agent", "agent", "agent"},
		{"agent --acp", "agent …", "agent --acp"},
		{"KEY=sk-1 B='x y' agent --acp", "agent …", "agent --acp"},
		{`KEY="sk 1" exec "/opt/my agent/run" -a`, `"/opt/my agent/run" …`, `exec "/opt/my agent/run" -a`},
		{"env KEY=sk-1 npx -y agent", "npx …", "env npx -y agent"},
		{"cd /srv && KEY=sk-1 agent", "agent", "cd /srv && agent"},
		{"export KEY=sk-1; agent", "agent", "export ; agent"},
		{"export KEY=sk-1\nexec agent", "agent", "export \n exec agent"},
		{"sh -c 'KEY=sk-1 agent'", "sh …", "sh -c …"},
		{`sh -c "cd /; KEY=sk-1 agent"`, "sh …", "sh -c …"},
		{`KEY='it'\''s sk-1' agent`, "agent", "agent"},
		{`KEY=$(cat /etc/key) agent`, "agent", "agent"},
		{"KEY=`cat /etc/key` agent", "agent", "agent"},
		{"KEY='sk-1 agent", "…", ""},
		{"", "…", ""},
	} {
		if got := visibleCommand(c.command, false); got != c.program {
			t.Errorf("%s: the program is %q, want %q", c.command, got, c.program)
		}
		if got := visibleCommand(c.command, true); got != c.shown {
			t.Errorf("%s: shown as %q, want %q", c.command, got, c.shown)
		}
	}
}
