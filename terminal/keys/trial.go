package keys

import (
	"fmt"

	"nanobot/terminal"
)

// assessTrial passes if the turn has ended without an error.
func assessTrial(t *terminal.Trial) terminal.Finding {
	for _, f := range t.Frames {
		if f.Kind == terminal.Error {
			return terminal.Finding{Verdict: terminal.Bad, Detail: f.Text + t.StderrSuffix(), Fix: t.ByHand}
		}
	}
	return terminal.Finding{Detail: fmt.Sprintf("the terminal works; the trial took %.1f s", t.Took.Seconds())}
}
