package keys_test

import (
	"testing"

	"nanobot/terminal/keys"
)

const (
	sure = "\n\nAre you sure you want to mark the task as complete? " +
		"This will trigger your solution to be graded and you won't be able to make any further corrections. "
	sureJSON = "Current terminal state:\nOUT" + sure + `If so, include "task_complete": true in your JSON response again.`
	sureXML  = "Current terminal state:\nOUT" + sure + "If so, include <task_complete>true</task_complete> again."
)

func TestTheAgentGetsTheResultOfItsResponse(t *testing.T) {
	type step struct {
		r    keys.Response
		want string
	}
	warnings := []string{"one", "two"}
	ok, done := keys.Response{}, keys.Response{TaskComplete: true}
	bad := keys.Response{Error: "bad"}
	const badJSON = "Previous response had parsing errors:\nERROR: bad\n\nPlease fix these issues and provide a proper JSON response."
	for name, row := range map[string]struct {
		format keys.Format
		steps  []step
	}{
		"nothing to say": {keys.JSON, []step{{ok, "OUT"}}},
		"an error":       {keys.JSON, []step{{bad, badJSON}}},
		"an error in XML": {keys.XML, []step{{
			bad, "Previous response had parsing errors:\nERROR: bad\n\nPlease fix these issues and provide a proper response.",
		}}},
		"an error and warnings": {keys.JSON, []step{{
			keys.Response{Error: "bad", Warnings: warnings},
			"Previous response had parsing errors:\nERROR: bad\nWARNINGS: - one\n- two\n\nPlease fix these issues and provide a proper JSON response.",
		}}},
		"warnings": {keys.XML, []step{{
			keys.Response{Warnings: warnings}, "Previous response had warnings:\nWARNINGS: - one\n- two\n\nOUT",
		}}},
		"complete":                      {keys.JSON, []step{{done, sureJSON}, {done, "done"}}},
		"complete in XML":               {keys.XML, []step{{done, sureXML}, {done, "done"}}},
		"complete with warnings":        {keys.JSON, []step{{keys.Response{TaskComplete: true, Warnings: warnings}, sureJSON}}},
		"taken back":                    {keys.JSON, []step{{done, sureJSON}, {ok, "OUT"}, {done, sureJSON}, {done, "done"}}},
		"an error takes nothing back":   {keys.JSON, []step{{done, sureJSON}, {bad, badJSON}, {done, "done"}}},
		"an error does not complete":    {keys.JSON, []step{{keys.Response{TaskComplete: true, Error: "bad"}, badJSON}, {done, sureJSON}}},
		"complete again with an answer": {keys.JSON, []step{{done, sureJSON}, {keys.Response{TaskComplete: true, Warnings: warnings}, "done"}}},
	} {
		var c keys.Completion
		for i, step := range row.steps {
			asked := 0
			got, finished := c.Feedback(step.r, row.format, func() string { asked++; return "OUT" })
			if finished {
				got += "done"
			}
			if got != step.want {
				t.Errorf("%s, step %d: %q, want %q", name, i+1, got, step.want)
			}
			if want := step.r.Error == "" && !finished; (asked == 1) != want || asked > 1 {
				t.Errorf("%s, step %d: asked %d times for the output", name, i+1, asked)
			}
		}
	}
}
