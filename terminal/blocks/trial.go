package blocks

import (
	"fmt"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// trialText is a task that changes nothing. A person is not asked: a command is answered without
// one.
func trialText(t config.Terminal) string {
	if SettingsOf(t).Agent == personAgent {
		return "/" + diffCommand
	}
	return "This is a check by the operator. Answer with a DONE block whose text is the word ready, and with nothing else."
}

// judge is satisfied when the session came to its end.
func judge(t *terminal.Trial) terminal.Finding {
	for _, f := range t.Frames {
		if f.Kind == terminal.Error {
			return terminal.Finding{Verdict: terminal.Bad, Detail: f.Text + t.StderrSuffix(), Fix: t.ByHand}
		}
	}
	return terminal.Finding{Detail: fmt.Sprintf("ended its task in %s", t.Took.Round(time.Millisecond))}
}
