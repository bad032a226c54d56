package blocks_test

import (
	"testing"

	"nanobot/terminal"
)

// summaryOf returns the summary of the turn, and the messages that notify.
func summaryOf(r *fixture) (fold terminal.Fold, rings []string) {
	for _, f := range r.frames {
		switch {
		case f.Fold != nil:
			fold = *f.Fold
		case f.Kind == terminal.Message && !f.Silent:
			rings = append(rings, f.Text)
		}
	}
	return fold, rings
}

func TestATaskIsSummedUpAndOnlyItsLastMessageNotifies(t *testing.T) {
	r := newFixture(t,
		"[MESSAGE]\nhalfway\n[/MESSAGE]\n[CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]\n[RUN_COMMAND]\nseq 5; exit 3\n[/RUN_COMMAND]", doneBlock)
	r.runToDone("go")
	fold, rings := summaryOf(r)
	checkEqual(t, "steps", fold.Steps, 2)
	checkEqual(t, "files", fold.Files, 1)
	checkContains(t, fold.Details, "Round 1\n✏️ `Created 'a.txt'` ✓\n💻 `Ran 'seq 5; exit 3' (exit code 3)` ✗\n│ `3`\n│ `4`\n│ `5`\nRound 2")
	checkEqual(t, "texts", r.sentTexts()[0], "halfway")
	if len(rings) != 1 || rings[0] != r.lastText() {
		t.Errorf("%q notify", rings)
	}
}

func TestATaskThatFailsIsSummedUp(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
	r.script("crash", "[MESSAGE]\nhalfway\n[/MESSAGE]\n[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
	checkEqual(t, "status", r.runTurn(t.Context(), "go").Status, terminal.Failed)
	fold, rings := summaryOf(r)
	checkEqual(t, "steps", fold.Steps, 1)
	checkEqual(t, "messages that notify besides the error", len(rings), 0)
}
