package keys_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestATerminalIsEndedBeforeATurnInAnotherPlace(t *testing.T) {
	t.Parallel()
	r := newScreen(t, "exec bash")
	r.runTurn(t.Context(), "old=yes")
	for _, c := range []struct{ place, want string }{{"", "in:yes"}, {"x", "in/x:"}, {"x", "in/x:"}, {"", "in:"}} {
		r.place = terminal.Place{Workspace: c.place}
		r.runTurn(t.Context(), `echo "in${PWD#`+r.work+`}:$old."`)
		if text := screenText(r.lastMessage()); !strings.Contains(text, "\n"+c.want+".\n") {
			t.Errorf("the terminal in %q shows\n%s", c.place, text)
		}
	}
}
