package keys

import "strings"

const confirmQuestion = "\n\nAre you sure you want to mark the task as complete? " +
	"This will trigger your solution to be graded and you won't be able to make any further corrections. "

// Completion stores whether an agent has announced that its task is complete, which its next
// response must confirm. The zero value is the start of a task.
type Completion struct{ announced bool }

// Feedback returns the text for the agent after a response was executed; done reports that the
// response has confirmed that the task is complete. It calls output at most once, and not at all
// after an error or at the end.
func (c *Completion) Feedback(r Response, f Format, output func() string) (text string, done bool) {
	if r.Error != "" { // an error does not withdraw the announcement
		return parseErrorText(r, f), false
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
		return "Current terminal state:\n" + output() + confirmQuestion + again, false
	case len(r.Warnings) > 0:
		return "Previous response had warnings:\nWARNINGS: " + bulletList(r.Warnings) + "\n\n" + output(), false
	}
	return output(), false
}

// parseErrorText returns the text for an agent whose response could not be parsed.
func parseErrorText(r Response, f Format) string {
	text := "Previous response had parsing errors:\nERROR: " + r.Error
	if len(r.Warnings) > 0 {
		text += "\nWARNINGS: " + bulletList(r.Warnings)
	}
	text += "\n\nPlease fix these issues and provide a proper "
	if f != XML {
		text += "JSON "
	}
	return text + "response."
}

// bulletList returns the warnings, one per line.
func bulletList(warnings []string) string { return "- " + strings.Join(warnings, "\n- ") }
