package keys_test

import (
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestATurnIsSummedUpWithItsConfirmationCountedOnceAndOnlyItsLastMessageNotifies(t *testing.T) {
	t.Parallel()
	r := newFixture(t, script{Responses: []string{
		encodeResponse("I count", command{Keystrokes: "seq 41 44; touch counted\n", Duration: 0.5}),
		taskDone("It is written"), taskDone("It is 44"),
	}})
	r.runTurn(t.Context(), "count")
	r.mu.Lock()
	defer r.mu.Unlock()
	var fold *terminal.Fold
	rings, step := 0, 0
	for _, f := range r.frames {
		switch {
		case f.Kind == terminal.Message && !f.Silent:
			rings++
		case f.Kind == terminal.Progress:
			if f.Step < step || fold != nil {
				t.Errorf("%+v", f)
			}
			step, fold = f.Step, f.Fold
		}
	}
	if rings != 1 || fold == nil || fold.Steps != 2 || step != 2 {
		t.Fatalf("%d messages notify, step %d, summary %+v", rings, step, fold)
	}
	for _, want := range []string{"⌨️ `go on`\n", "│ `43`\n│ `44`\n│ `$`\n", "⌨️ `It is written`"} {
		if !strings.Contains(fold.Details, want) || strings.Contains(fold.Details, "Are you sure") {
			t.Errorf("the details lack %q: %q", want, fold.Details)
		}
	}
}
