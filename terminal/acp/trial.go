package acp

import (
	"fmt"
	"time"

	"nanobot/terminal"
)

// assessTrial passes if the agent has opened a session.
func assessTrial(t *terminal.Trial) terminal.Finding {
	for _, f := range t.Frames {
		if f.Kind == terminal.Error {
			return terminal.Finding{Verdict: terminal.Bad, Detail: "no session: " + f.Text + t.StderrSuffix(), Fix: t.ByHand + "; an agent that wants you to sign in says how"}
		}
	}
	if t.Outcome.Status != terminal.Done {
		return terminal.Finding{Verdict: terminal.Bad, Detail: "no session: the agent has " + string(t.Outcome.Status) + t.StderrSuffix(), Fix: t.ByHand}
	}
	return terminal.Finding{Detail: fmt.Sprintf("acp: initialized and opened a session in %s", t.Took.Round(time.Millisecond))}
}
