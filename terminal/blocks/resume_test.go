package blocks_test

import (
	"os"
	"path/filepath"
	"testing"
)

// interrupted is the result of a command that must not be repeated.
const interrupted = "Interrupted: the gateway stopped while this ran"

func TestAStoredResponseIsExecutedAfterItsLastResult(t *testing.T) {
	const id, response = "0000000a", "[RUN_COMMAND]\necho 1 >> ran\n[/RUN_COMMAND]\n[READ_FILE path=\"a\"]\n[RUN_COMMAND]\necho 3 >> ran\n[/RUN_COMMAND]\n[MESSAGE]\nfour\n[/MESSAGE]"
	for _, tc := range []struct {
		name        string
		more        fields
		ran         string
		first       string // what the model is told of the commands before the third
		requested   string
		isProcessed bool
	}{
		{"no result", fields{"response": roundName(id, 1)}, "1\n3\n", "[OK] RUN_COMMAND: Ran 'echo 1 >> ran' (exit code 0)\n[OK] READ_FILE: Queued 'a' for next outbox\n", "a", false},
		{"not even known", nil, "1\n3\n", "[OK] RUN_COMMAND: Ran 'echo 1 >> ran' (exit code 0)\n[OK] READ_FILE: Queued 'a' for next outbox\n", "a", false},
		{"two results", fields{
			"response": roundName(id, 1), "readFileRequests": []string{"b"},
			"lastResults": []fields{{"commandType": "RUN_COMMAND", "summary": "one", "success": false, "output": "x"}, {"commandType": "READ_FILE", "summary": "two", "success": true, "output": ""}},
		}, "3\n", "[FAILED] RUN_COMMAND: one\n  Output: x\n[OK] READ_FILE: two\n", "b", false},
		{"two results, put away", fields{
			"response": roundName(id, 1), "readFileRequests": []string{"b"},
			"lastResults": []fields{{"commandType": "RUN_COMMAND", "summary": "one", "success": false, "output": "x"}, {"commandType": "READ_FILE", "summary": "two", "success": true, "output": ""}},
		}, "3\n", "[FAILED] RUN_COMMAND: one\n  Output: x\n[OK] READ_FILE: two\n", "b", true},
	} {
		r := newFixture(t, doneBlock)
		r.putFile("a", "A")
		r.putFile("b", "B")
		r.createUnfinishedSession(id, tc.more)
		parts := []string{"inbox", roundName(id, 1)}
		if tc.isProcessed {
			parts = []string{"inbox", "processed", roundName(id, 1)}
		}
		r.putFile(r.folder(parts...), response)
		r.runNextMessage("/resume")
		checkEqual(t, tc.name+": commands that ran", r.readFile("ran"), tc.ran)
		checkEqual(t, tc.name+": rounds of the model", len(r.outboxes()), 1)
		checkEqual(t, tc.name+": results", resultsIn(r.outboxes()[0]), tc.first+"[OK] RUN_COMMAND: Ran 'echo 3 >> ran' (exit code 0)\n[OK] MESSAGE: four")
		checkContains(t, contentsIn(r.outboxes()[0]), "--- end "+tc.requested+" ---")
		checkEqual(t, tc.name+": sequence", r.session().SequenceNumber, 2)
		checkEqual(t, tc.name+": inbox", r.readSessionFile("inbox", roundName(id, 1)), "(none)")
		checkEqual(t, tc.name+": processed", r.readSessionFile("inbox", "processed", roundName(id, 1)), response)
	}
}

func TestAnInterruptedCommandIsRepeatedOnlyIfThatIsHarmless(t *testing.T) {
	const before, after = "[MESSAGE]\nfirst\n[/MESSAGE]\n", "[CREATE_FILE path=\"after\"]\nafter\n[/CREATE_FILE]"
	r := newFixture(t)
	for id, tc := range map[string]struct{ command, result, file string }{
		"0000000a": {"[CREATE_FILE path=\"f\"]\nnew\n[/CREATE_FILE]", "[OK] CREATE_FILE: Created 'f'", "new"},
		"0000000b": {"[READ_FILE path=\"f\"]", "[OK] READ_FILE: Queued 'f' for next outbox", "old\n"},
		"0000000c": {"[MESSAGE]\nonce more\n[/MESSAGE]", "[OK] MESSAGE: once more", "old\n"},
		"0000000d": {"[EDIT_FILE path=\"f\" start_line=\"1\" end_line=\"1\"]\nnew\n[/EDIT_FILE]", "[FAILED] EDIT_FILE: " + interrupted, "old\n"},
		"0000000e": {"[DELETE_FILE path=\"f\"]", "[FAILED] DELETE_FILE: " + interrupted, "old\n"},
		"0000000f": {"[RUN_COMMAND]\necho new > f\n[/RUN_COMMAND]", "[FAILED] RUN_COMMAND: " + interrupted, "old\n"},
	} {
		r.script("", doneBlock)
		r.putFile("f", "old\n")
		r.putFile("after", "")
		r.createUnfinishedSession(id, fields{
			"response": roundName(id, 1), "begun": true,
			"lastResults": []fields{{"commandType": "MESSAGE", "summary": "was said", "success": true, "output": ""}},
		})
		r.putFile(r.folder("inbox", roundName(id, 1)), before+tc.command+"\n"+after)
		said := len(r.sentTexts())
		r.runNextMessage("/resume")
		checkEqual(t, tc.command+": results", resultsIn(r.outboxes()[0]), "[OK] MESSAGE: was said\n"+tc.result+"\n[OK] CREATE_FILE: Created 'after'")
		checkEqual(t, tc.command+": the file", r.readFile("f"), tc.file)
		checkEqual(t, tc.command+": the file of the next command", r.readFile("after"), "after")
		if id == "0000000c" {
			checkEqual(t, "the repeated message", r.sentTexts()[said], "once more")
		} else {
			checkEqual(t, tc.command+": messages", len(r.sentTexts())-said, 1)
		}
	}
}

func TestAnOutboxThatExistsIsNotWrittenAgain(t *testing.T) {
	r := newFixture(t, doneBlock)
	const id = "0000000a"
	result := []fields{{"commandType": "READ_FILE", "summary": "done", "success": true, "output": ""}}
	// The response was executed and the next outbox written; the session file does not say so yet.
	r.createUnfinishedSession(id, fields{"response": roundName(id, 1), "lastResults": result})
	r.putFile(r.folder("inbox", "processed", roundName(id, 1)), "[READ_FILE path=\"a\"]")
	r.putFile(r.folder("outbox", roundName(id, 2)), "written before the crash")
	r.runNextMessage("/resume")
	checkEqual(t, "what the model was given", r.outboxes()[0], "written before the crash")
	checkEqual(t, "the outbox", r.readSessionFile("outbox", roundName(id, 2)), "written before the crash")
	checkEqual(t, "the outbox before it", r.readSessionFile("outbox", roundName(id, 1)), "left behind by "+id)
	checkEqual(t, "sequence", r.session().SequenceNumber, 2)
	checkEqual(t, "the response", r.readSessionFile("inbox", "processed", roundName(id, 2)), doneBlock)
	for _, name := range []string{roundName(id, 0), roundName(id, 3)} {
		if _, err := os.Stat(r.folder("outbox", name)); err == nil {
			t.Errorf("there is %s", filepath.Base(name))
		}
	}
}
