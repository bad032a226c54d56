package blocks_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

const doneBlock = "[DONE]\nAll done.\n[/DONE]\n"

func TestASessionContinuesUntilDone(t *testing.T) {
	r := newFixture(t,
		"I begin.\n[CREATE_FILE path=\"src/a.txt\"]\none\ntwo\n[/CREATE_FILE]\n[MESSAGE]\nhalfway\n[/MESSAGE]\n[READ_FILE path=\"src/a.txt\"]",
		"[EDIT_FILE path=\"src/a.txt\" start_line=\"2\" end_line=\"2\"]\n2\n[/EDIT_FILE]\n[RUN_COMMAND]\ncat src/a.txt; echo oops >&2; exit 3\n[/RUN_COMMAND]\n[DELETE_FILE path=\"old.txt\"]",
		doneBlock+"[CREATE_FILE path=\"after.txt\"]\nstill executed\n[/CREATE_FILE]",
	)
	r.putFile("old.txt", "old")
	r.runToDone("make it so\nand well")
	checkEqual(t, "edited file", r.readFile("src/a.txt"), "one\n2\n")
	checkEqual(t, "deleted file", r.readFile("old.txt"), "(none)")
	checkEqual(t, "file after DONE", r.readFile("after.txt"), "still executed")
	out := r.outboxes()
	checkEqual(t, "rounds", len(out), 3)
	checkContains(t, out[0], "Task: make it so\n\n", "  old.txt (3 bytes)", "=== PROMPT ===\nmake it so\nand well")
	checkContains(t, out[1], "[OK] CREATE_FILE: Created 'src/a.txt'\n[OK] MESSAGE: halfway\n[OK] READ_FILE: Queued 'src/a.txt' for next outbox", "--- src/a.txt ---\none\ntwo\n--- end src/a.txt ---")
	checkEqual(t, "results", resultsIn(out[2]), "[OK] EDIT_FILE: Edited 'src/a.txt' lines 2-2\n"+
		"[FAILED] RUN_COMMAND: Ran 'cat src/a.txt; echo oops >&2; exit 3' (exit code 3)\n  Output: one\n2\n\noops\n[OK] DELETE_FILE: Deleted 'old.txt'")
	texts := r.sentTexts()
	checkEqual(t, "first message", texts[0], "halfway")
	checkContains(t, r.lastText(), "All done.", "Created: `after.txt`, `src/a.txt`", "Deleted: `old.txt`")
	s := r.session()
	fold, _ := summaryOf(r)
	checkContains(t, fold.Details, "Created: `after.txt`, `src/a.txt`", "+++ b/after.txt", "+still executed", "-old", "+2")
	checkEqual(t, "required", fold.Required, true)
	checkEqual(t, "documents", len(r.sent), 0)
	checkEqual(t, "complete", s.IsComplete, true)
	checkEqual(t, "sequence", s.SequenceNumber, 3)
	for i, name := range []string{"0001", "0002", "0003"} {
		raw, err := os.ReadFile(r.folder("outbox", s.SessionID+"_seq"+name+".txt"))
		if err != nil || string(raw) != out[i] {
			t.Errorf("outbox %s: %v", name, err)
		}
		if _, err := os.Stat(r.folder("inbox", "processed", s.SessionID+"_seq"+name+".txt")); err != nil {
			t.Error(err)
		}
	}
}

func TestTheBoardNamesTheRoundAndEachResult(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a_b_c.txt\"]\n[/CREATE_FILE]\n[READ_FILE path=\"none\"]", doneBlock)
	r.runToDone("go")
	f := r.awaitFrame("a board", func(f terminal.Frame) bool { return f.Board && strings.Contains(f.Text, "Round 2") })
	checkContains(t, f.Text, "Round 1\n✏️ `Created 'a_b_c.txt'` ✓\n📖 `File 'none' not found` ✗\nRound 2")
}

func TestAFailedAgentExecutesNothingAndTheSessionIsResumed(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
	r.putFile(filepath.Join(r.model, "then"), "crash")
	out := r.runTurn(t.Context(), "go")
	checkEqual(t, "status", out.Status, terminal.Failed)
	checkContains(t, r.lastText(), "Error: The agent has failed (exit status 3)", "/resume", "STDERR: no credit")
	checkEqual(t, "what it printed before it failed", r.readFile("never"), "(none)")
	checkEqual(t, "sequence", r.session().SequenceNumber, 2)
	r.script("", doneBlock)
	r.runNextMessage("/resume")
	checkContains(t, r.lastText(), "All done.", "Created: `a`")
	checkEqual(t, "the outbox is the one of round 2", strings.Contains(r.outboxes()[0], "Sequence: 2\n"), true)
	checkEqual(t, "sequence", r.session().SequenceNumber, 2)
	r.runNextMessage("/resume")
	checkContains(t, r.lastText(), "There is no unfinished task.")
}

func TestASessionEndsAfterMaxRounds(t *testing.T) {
	r := newFixture(t)
	r.settings.MaxRounds = 3
	out := r.runTurn(t.Context(), "go")
	checkEqual(t, "status", out.Status, terminal.Failed)
	checkContains(t, r.lastText(), "Error: Stopped after 3 rounds")
	checkEqual(t, "rounds", len(r.outboxes()), 3)
	checkEqual(t, "the outbox of the next round is there", r.session().SequenceNumber, 4)
}

func TestTheModelLearnsThatItsResponseHasNoCommands(t *testing.T) {
	r := newFixture(t, "Sure! I would create a file.", "[RUN_COMMAND]\nls", doneBlock)
	r.runToDone("go")
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), "[FAILED] PARSE_ERROR: No commands found in the response")
	checkEqual(t, "results", resultsIn(r.outboxes()[2]), "[FAILED] PARSE_ERROR: RUN_COMMAND missing closing tag\n[HINT] line 1: "+runHint)
}

func TestAnAgentThatFloodsOrHangsEndsWithTheTurn(t *testing.T) {
	r := newFixture(t)
	r.script("flood")
	r.config.MaxLine = 1 << 20
	out := r.runTurn(t.Context(), "go")
	checkEqual(t, "status", out.Status, terminal.Failed)
	checkContains(t, r.lastText(), "The agent's response is too long: it has more than 1048576 bytes")
	r.script("hang")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		r.awaitCondition("the model to be asked", func() bool { return len(r.outboxes()) > 0 })
		stop()
	}()
	r.run += "+"
	out = r.runTurn(ctx, "/resume")
	checkEqual(t, "status", out.Status, terminal.Stopped)
}

func TestAResponseOfTenMegabytesIsExecuted(t *testing.T) {
	line := strings.Repeat("0123456789", 100) + "\n"
	body := strings.Repeat(line, 10<<20/len(line))
	var many strings.Builder
	for range 2000 {
		many.WriteString("[READ_FILE path=\"big\"]\n")
	}
	r := newFixture(t, "[CREATE_FILE path=\"big\"]\n"+body+"[/CREATE_FILE]", many.String(), doneBlock)
	r.runToDone("go")
	checkEqual(t, "content", r.readFile("big"), strings.TrimSuffix(body, "\n"))
	checkContains(t, resultsIn(r.outboxes()[2]), "[FAILED] PARSE_ERROR: Only the first 1000 of 2000 commands were executed")
	checkEqual(t, "the file is shown once", strings.Count(r.outboxes()[2], "--- big ---"), 1)
}

func TestACompletedTaskIsNotRunAgain(t *testing.T) {
	r := newFixture(t, "[RUN_COMMAND]\necho x >> ran\n[/RUN_COMMAND]"+"\n"+doneBlock)
	r.runToDone("go")
	r.runToDone("go") // the same message, run again
	checkEqual(t, "runs", r.readFile("ran"), "x\n")
	checkContains(t, r.lastText(), "All done.", "Send it as a new message")
}

func TestALargeFileIsNotEditedAndOneThatCannotBeSavedIsNotTouched(t *testing.T) {
	r := newFixture(t, "[EDIT_FILE path=\"large\" start_line=\"1\" end_line=\"1\"]\nx\n[/EDIT_FILE]\n[DELETE_FILE path=\"huge\"]", doneBlock)
	for name, size := range map[string]int64{"large": 17 << 20, "huge": 1 << 40} { // sparse
		r.putFile(name, "")
		musttest.Do(t, os.Truncate(filepath.Join(r.workspace, name), size))
	}
	r.runToDone("go")
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), "[FAILED] EDIT_FILE: Failed to edit 'large': it has more than 16 MiB\n"+
		"[FAILED] DELETE_FILE: Failed to delete 'huge': it has more than 64 MiB, too much to be kept for /undo")
}

func TestATaskNamesTheFilesThatCameWithIt(t *testing.T) {
	r := newFixture(t, doneBlock)
	r.putFile("users/1/photo.png", "x")
	r.media = []string{filepath.Join(r.workspace, "users/1/photo.png")}
	r.config.PassMedia = true
	r.runToDone("look")
	checkContains(t, r.outboxes()[0], "look\n\nFiles that came with this, for RUN_COMMAND:\n"+r.media[0])
}

func TestSessionsOfDifferentChatsShareOnlyTheWorkspace(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
	r.putFile(filepath.Join(r.model, "then"), "crash")
	_ = r.runTurn(t.Context(), "first chat")
	first := "users/1/blocks/sessions/" + r.session().SessionID + ".json"
	of1 := r.readFile(first)
	r.chat = "2"
	r.runNextMessage("/resume")
	checkContains(t, r.lastText(), "There is no unfinished task.")
	r.runNextMessage("/diff")
	checkContains(t, r.lastText(), "No task has changed a file here.")
	checkEqual(t, "sessions of the second chat", len(r.sessions()), 0)
	r.script("", everyFileCommand(first)+"[READ_FILE path=\"a\"]", doneBlock)
	r.runNextMessage("second chat")
	const rejected = "REJECTED: Path '%s' is outside workspace"
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), failures(first, rejected, rejected, rejected, rejected)+"[OK] READ_FILE: Queued 'a' for next outbox")
	checkEqual(t, "contents", contentsIn(r.outboxes()[1]), "--- a ---\none\n--- end a ---\n")
	checkEqual(t, "sequence of the second chat", r.session().SequenceNumber, 2)
	checkEqual(t, "the session of the first chat", r.readFile(first), of1)
	if strings.Contains(r.outboxes()[0], "users/") {
		t.Errorf("files of chats are listed:\n%s", r.outboxes()[0])
	}
}
