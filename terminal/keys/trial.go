package keys

import (
	"fmt"

	"nanobot/terminal"
)

// assessTrial passes if the turn has ended without an error.
func assessTrial(t *terminal.Trial) terminal.Finding {
	return t.AssessFrames(fmt.Sprintf("the terminal works; the trial took %.1f s", t.Took.Seconds()))
}
