package terminal_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestAProgramThatAsksForATerminalGetsAHintInItsLastLine(t *testing.T) {
	const hint = "\nThis program asks for a terminal. The protocol screen gives it one: nanobot web --protocol screen COMMAND, or \"protocol\": \"screen\" in the config."
	for script, want := range map[string]bool{
		"echo 'top: failed tty get' >&2; exit 1":                                      true,
		"echo 'Error opening terminal: unknown.' >&2; exit 1":                         true,
		"echo 'Vim: Warning: Output is not to a terminal' >&2; exit 1":                true,
		"echo 'the input device is not a TTY'; exit 1":                                true,
		"echo 'open terminal failed: not a terminal' >&2; exit 1":                     true,
		"echo \"termios.error: (25, 'Inappropriate ioctl for device')\" >&2; exit 1":  true,
		"echo 'sudo: a terminal is required to read the password' >&2; exit 1":        true,
		"printf '\\033[?1049h\\033[Hload\\n'; exit 3":                                 true,
		"echo 'stdin is not a tty, so there are no colours' >&2":                      false, // it has done its work
		"echo 'the terminal of the airport'; exit 1":                                  false,
		frame(object{"type": "message", "text": "this is not a terminal"}) + "exit 1": false, // its answer
		"stty -a </dev/null": true,
	} {
		for _, protocol := range []string{"plain", "rich"} {
			b := newTurnFixture(t, protocol, script).run()
			if protocol == "plain" && strings.Contains(script, `"type"`) {
				continue
			}
			last := b.frames[len(b.frames)-1].Text
			if strings.HasSuffix(last, hint) != want || strings.Count(last, "asks for a terminal") > 1 {
				t.Errorf("%s: %s ends with %q", protocol, script, last)
			}
		}
	}
	b := newTurnFixture(t, "rich", "echo 'not a tty' >&2; exit 1")
	b.opts.Config.RevealErrors.All = false
	b.run()
	for _, f := range b.frames {
		if f.Kind != terminal.Log && strings.Contains(f.Text, "terminal") {
			t.Errorf("people who may not see errors are told %q", f.Text)
		}
	}
}
