package blocks

import (
	"fmt"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// trialText returns a task that changes nothing, or /diff if a person is the agent, so that nobody
// has to answer.
func trialText(t config.Terminal) string {
	if SettingsOf(t).Agent == personAgent {
		return "/" + diffCommand
	}
	return "This is a check by the operator. Answer with a DONE block whose text is the word ready, and with nothing else."
}

// assessTrial passes if the session has ended without an error.
func assessTrial(t *terminal.Trial) terminal.Finding {
	return t.AssessFrames(fmt.Sprintf("ended its task in %s", t.Took.Round(time.Millisecond)))
}
