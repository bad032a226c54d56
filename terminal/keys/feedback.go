package keys

import "strings"

const sureToComplete = "\n\nAre you sure you want to mark the task as complete? " +
	"This will trigger your solution to be graded and you won't be able to make any further corrections. "

// Completion remembers whether an agent has said that its task is complete, which it has to confirm
// with its next response. The zero value is the beginning of a task.
type Completion struct{ announced bool }

// Feedback returns what the agent is told after a response in a format has been carried out, or
// done if the response has confirmed that the task is complete. It calls output for the output of
// the terminal, at most once, and not at all after an error or at the end.
func (c *Completion) Feedback(r Response, f Format, output func() string) (text string, done bool) {
	if r.Error != "" { // which leaves what was announced as it is
		return parsingErrors(r, f), false
	}
	confirmed := c.announced
	c.announced = r.TaskComplete
	switch {
	case r.TaskComplete && confirmed:
		return "", true
	case r.TaskComplete:
		again := `If so, include "task_complete": true in your JSON response again.`
		if f == XML {
			again = "If so, include <task_complete>true</task_complete> again."
		}
		return "Current terminal state:\n" + output() + sureToComplete + again, false
	case len(r.Warnings) > 0:
		return "Previous response had warnings:\nWARNINGS: " + list(r.Warnings) + "\n\n" + output(), false
	}
	return output(), false
}

// parsingErrors is what an agent is told whose response could not be read.
func parsingErrors(r Response, f Format) string {
	text := "Previous response had parsing errors:\nERROR: " + r.Error
	if len(r.Warnings) > 0 {
		text += "\nWARNINGS: " + list(r.Warnings)
	}
	text += "\n\nPlease fix these issues and provide a proper "
	if f != XML {
		text += "JSON "
	}
	return text + "response."
}

// list makes a list of warnings, one a line.
func list(warnings []string) string { return "- " + strings.Join(warnings, "\n- ") }
