package blocks_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// allCommands has one command of each type that may need approval.
const allCommands = "[CREATE_FILE path=\"new\"]\none\n[/CREATE_FILE]\n" +
	"[CREATE_FILE path=\"old\"]\n1\nnew\n[/CREATE_FILE]\n" +
	"[EDIT_FILE path=\"old\" start_line=\"1\" end_line=\"1\"]\nI\n[/EDIT_FILE]\n" +
	"[RUN_COMMAND]\necho ran > ran\n[/RUN_COMMAND]\n" +
	"[DELETE_FILE path=\"gone\"]\n"

func newApprovalFixture(t *testing.T, approve string, answers ...string) *fixture {
	t.Helper()
	r := newFixture(t, allCommands, doneBlock)
	r.settings.Approve = approve
	r.putFile("old", "1\n2\n")
	r.putFile("gone", "x")
	if answers != nil {
		r.answerWith(answers...)
	}
	r.runToDone("go")
	return r
}

func TestByDefaultThePersonIsAskedBeforeCommandsAndDeletions(t *testing.T) {
	r := newApprovalFixture(t, "run", "Yes", "No")
	checkEqual(t, "questions", strings.Join(r.asked, "\n--\n"), "🔐 Run this command?\n```sh\necho ran > ran\n```\n--\n🔐 Delete `gone`?")
	checkEqual(t, "the command", r.readFile("ran"), "ran\n")
	checkEqual(t, "the file", r.readFile("gone"), "x")
	checkContains(t, resultsIn(r.outboxes()[1]), "[OK] RUN_COMMAND: Ran 'echo ran > ran' (exit code 0)", "[FAILED] DELETE_FILE: REJECTED: not approved: gone")
}

func TestApproveAllAsksAboutChangesWithAShortDiff(t *testing.T) {
	r := newApprovalFixture(t, "all", "Yes", "No", "Yes", "Yes", "Yes")
	checkEqual(t, "questions", strings.Join(r.asked[:3], "\n--\n"), "🔐 Create `new`?\n```diff\n@@ -0,0 +1 @@\n+one\n\\ No newline at end of file\n```\n--\n"+
		"🔐 Overwrite `old`?\n```diff\n@@ -1,2 +1,2 @@\n 1\n-2\n+new\n\\ No newline at end of file\n```\n--\n"+
		"🔐 Edit `old`?\n```diff\n@@ -1,2 +1,2 @@\n-1\n+I\n 2\n```")
	checkEqual(t, "the file", r.readFile("old"), "I\n2\n")
	checkContains(t, resultsIn(r.outboxes()[1]), "[FAILED] CREATE_FILE: REJECTED: not approved: old\n")
}

func TestNoAnswerAndNobodyToAskAreRefusals(t *testing.T) {
	for name, answers := range map[string][]string{"no answer": {}, "nobody": nil} {
		r := newApprovalFixture(t, "run", answers...)
		checkEqual(t, name+": the command", r.readFile("ran"), "(none)")
		checkContains(t, resultsIn(r.outboxes()[1]), "REJECTED: not approved: echo ran > ran", "REJECTED: not approved: gone")
		told := map[string]int{"no answer": 2, "nobody": 0}[name] // messages about refusals, without the final one
		checkEqual(t, name+": messages", len(r.sentTexts()), told+1)
	}
}

func TestAnApprovalForTheSessionCoversOneTypeOfCommand(t *testing.T) {
	run := "[RUN_COMMAND]\necho x >> ran\n[/RUN_COMMAND]\n"
	r := newFixture(t, run+run, run, doneBlock)
	r.settings.Approve = "run"
	r.answerWith("Always in this session")
	r.runToDone("go")
	checkEqual(t, "questions", len(r.asked), 1)
	checkEqual(t, "runs", r.readFile("ran"), "x\nx\nx\n")
	r.script("", run, doneBlock)
	r.runNextMessage("again")
	checkEqual(t, "questions of another session", len(r.asked), 2)
	checkEqual(t, "runs", r.readFile("ran"), "x\nx\nx\n")
}

func TestNoApprovalIsAskedForACommandThatWouldFail(t *testing.T) {
	r := newFixture(t, "[DELETE_FILE path=\"none\"]\n[DELETE_FILE path=\"/etc/passwd\"]\n[EDIT_FILE path=\"f\" start_line=\"9\" end_line=\"9\"]\nx\n[/EDIT_FILE]", doneBlock)
	r.settings.Approve = "all"
	r.putFile("f", "one\n")
	r.answerWith("Yes", "Yes", "Yes")
	r.runToDone("go")
	checkEqual(t, "questions", len(r.asked), 0)
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), "[FAILED] DELETE_FILE: File 'none' not found\n"+
		"[FAILED] DELETE_FILE: REJECTED: Path '/etc/passwd' is outside workspace\n[FAILED] EDIT_FILE: Invalid line range 9-9 for file with 1 lines")
}

func TestARepeatedTurnAsksTheSameQuestions(t *testing.T) {
	r := newFixture(t, "[RUN_COMMAND]\necho 1 >> ran\n[/RUN_COMMAND]\n[MESSAGE]\nhi\n[/MESSAGE]\n[RUN_COMMAND]\necho 2 >> ran\n[/RUN_COMMAND]")
	r.settings.Approve = "run"
	stored := map[string]string{} // the answers that survive a crash
	var asked []string
	var crash context.CancelFunc
	r.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = append(asked, q.ID)
		if text, ok := stored[q.ID]; ok {
			return terminal.Answer{Text: text, By: "ann"}, nil
		}
		stored[q.ID] = "Yes" // the answer is stored, but the gateway exits before the turn gets it
		crash()
		return terminal.Answer{}, context.Cause(ctx)
	}
	turn := func() terminal.Status {
		var ctx context.Context
		ctx, crash = context.WithCancel(t.Context())
		defer crash()
		return r.runTurn(ctx, "go").Status
	}
	checkEqual(t, "status of the first turn", turn(), terminal.Stopped)
	checkEqual(t, "what ran before the answer", r.readFile("ran"), "(none)")
	checkEqual(t, "status of the second turn", turn(), terminal.Stopped)
	checkEqual(t, "what ran after one answer", r.readFile("ran"), "1\n")
	r.script("", doneBlock)
	checkEqual(t, "status of the third turn", turn(), terminal.Done)
	checkEqual(t, "what ran", r.readFile("ran"), "1\n2\n")
	checkEqual(t, "rounds after the first", len(r.outboxes()), 1)
	if len(asked) != 4 || asked[0] != asked[1] || asked[1] == asked[2] || asked[2] != asked[3] {
		t.Fatalf("questions %q", asked)
	}
	r.run += "+"
	r.script("", "[RUN_COMMAND]\necho 3 >> ran\n[/RUN_COMMAND]", doneBlock)
	checkEqual(t, "status of another session", turn(), terminal.Stopped)
	checkEqual(t, "what ran", r.readFile("ran"), "1\n2\n")
	if last := asked[len(asked)-1]; len(asked) != 5 || slices.Contains(asked[:4], last) {
		t.Errorf("another session asks %q", asked)
	}
	checkEqual(t, "sessions", len(r.sessions()), 2)
}

func TestThePersonIsAskedInTheirLanguageAndTheModelIsToldInEnglish(t *testing.T) {
	r := newFixture(t, allCommands, doneBlock)
	r.settings.Approve = "run"
	r.putFile("old", "1\n2\n")
	r.putFile("gone", "x")
	r.words = words.New(words.Settings{Overrides: map[string]string{"buttonYes.de": "Nur zu"}}).For("de")
	r.answerWith("Nur zu", "Nein")
	r.runToDone("go")
	checkEqual(t, "questions", strings.Join(r.asked, "\n--\n"), "🔐 Diesen Befehl ausführen?\n```sh\necho ran > ran\n```\n--\n🔐 `gone` löschen?")
	checkEqual(t, "the command", r.readFile("ran"), "ran\n")
	checkEqual(t, "the file", r.readFile("gone"), "x")
	checkContains(t, resultsIn(r.outboxes()[1]), "Ran 'echo ran > ran' (exit code 0)", "REJECTED: not approved: gone")
	var board string
	for _, f := range r.frames {
		if f.Board {
			board = f.Text
		}
	}
	checkContains(t, board, "Runde 1", "'echo ran > ran' ausgeführt (Exit-Code 0)", "ABGELEHNT: nicht genehmigt: gone")
	checkContains(t, r.lastText(), "Angelegt: ")
	r.runNextMessage("/undo")
	checkContains(t, r.lastText(), "Rückgängig gemacht: go", "Entfernt: ", "Ausgeführte Befehle (RUN_COMMAND) werden nicht rückgängig gemacht.")
}

func TestATaskWhoseLastCommandWasNotExecutedIsNotCalledDone(t *testing.T) {
	const run, fail, empty = "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]\n", "[RUN_COMMAND]\nexit 3\n[/RUN_COMMAND]\n", "[DONE]\n[/DONE]\n"
	for name, c := range map[string]struct {
		response, answer string
		status           terminal.Status
		text             string
	}{
		"done":    {run, "Yes", terminal.Done, "Done."},
		"refused": {run, "No", terminal.Refused, "The last step was refused, and the agent ended its turn."},
		"failed":  {fail, "Yes", terminal.Failed, "The last step failed, and the agent ended its turn without an answer."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t, c.response, empty)
			r.settings.Approve = "run"
			r.answerWith(c.answer)
			if out := r.runTurn(t.Context(), "go"); out.Status != c.status || r.lastText() != c.text {
				t.Errorf("it ends as %s: %s", out.Status, r.lastText())
			}
		})
	}
}

func TestAnEndThatACrashInterruptedIsToldAsItWas(t *testing.T) {
	r := newFixture(t, "[DONE]\n[/DONE]\n")
	r.createUnfinishedSession("0000000a", fields{"lastState": "🚫"})
	if out := r.runTurn(t.Context(), "/resume"); out.Status != terminal.Refused || !strings.HasPrefix(r.lastText(), "The last step was refused") {
		t.Errorf("it ends as %s: %s", out.Status, r.lastText())
	}
}
