package blocks_test

import (
	"os"
	"strings"
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

func TestADiffOfMoreThan4KiBIsADocumentOfTheAnswer(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a.txt\"]\n"+strings.Repeat("line\n", 1000)+"[/CREATE_FILE]", doneBlock)
	r.runToDone("go")
	fold, rings := summaryOf(r)
	if strings.Contains(fold.Details, "+line") || fold.Required {
		t.Errorf("the summary is %+v", fold)
	}
	checkContains(t, r.sent[r.session().SessionID+".diff"], "+++ b/a.txt", "+line")
	checkEqual(t, "messages", len(r.sentTexts()), 1)
	checkEqual(t, "messages that notify", len(rings), 1)
}

func TestATaskThatEndsAgainAfterACrashHasItsDiff(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]", doneBlock)
	r.runToDone("go")
	first, said := r.lastText(), len(r.sentTexts())
	name := r.folder("sessions", r.session().SessionID+".json")
	raw, err := os.ReadFile(name)
	if !strings.Contains(string(raw), `"told"`) {
		t.Fatal(string(raw), err)
	}
	r.putFile(name, strings.Replace(string(raw), `"told"`, `"none"`, 1)) // killed before it was saved
	r.frames = nil
	r.runToDone("go")
	fold, _ := summaryOf(r)
	checkEqual(t, "steps", fold.Steps, 0)
	checkContains(t, fold.Details, "+x")
	checkEqual(t, "required", fold.Required, true)
	checkEqual(t, "said", r.lastText(), first)
	checkEqual(t, "messages", len(r.sentTexts()), said)
}

func TestDiffAndUndoNotifyNobody(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a.txt\"]\nx\n[/CREATE_FILE]", doneBlock)
	for _, command := range []string{"/diff", "/undo", "go", "/diff", "/undo"} {
		r.frames = nil
		r.runNextMessage(command)
		if _, rings := summaryOf(r); (len(rings) == 1) != (command == "go") {
			t.Errorf("after %s %q notify", command, rings)
		}
	}
}
