package blocks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// withPerson runs a test with a person as the agent, in a synctest bubble.
func withPerson(t *testing.T, story func(r *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.settings.Agent = "person"
		r.config.Command = "true"
		story(r)
	})
}

// startTurn starts a turn in the background. ended gets its outcome.
func (r *fixture) startTurn(text string) (stop context.CancelFunc, ended chan terminal.Outcome) {
	r.t.Helper()
	r.start()
	ctx, stop := context.WithCancel(r.t.Context())
	ended = make(chan terminal.Outcome, 1)
	go func() { ended <- r.runTurn(ctx, text) }()
	synctest.Wait()
	return stop, ended
}

// sendMessage sends a message of the person, which the turn must read.
func (r *fixture) sendMessage(id, text string, media ...string) {
	r.t.Helper()
	read, err := r.runner.ReadMessage(r.t.Context(), terminal.PersonMessage{Chat: "cli:" + r.chat, ID: id, Text: text, Media: media})
	if err != nil || !read {
		r.t.Fatalf("%q: read %t, %v", text, read, err)
	}
}

// advanceTime lets time pass in the synctest bubble.
func advanceTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAPersonTransfersTheResponsesOfAModel(t *testing.T) {
	withPerson(t, func(r *fixture) {
		_, ended := r.startTurn("make a file")
		id := r.session().SessionID
		checkEqual(t, "messages", strings.Join(r.sentTexts(), "|"), "Round 1: give this file to the model, and send me its answer, as text or as a .txt or .md file.")
		checkContains(t, r.sent[id+"_seq0001.txt"], "=== PROMPT ===\nmake a file")
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\none")
		advanceTime(1900 * time.Millisecond)
		r.sendMessage("m2", "two\n[/CREATE_FILE]")
		advanceTime(1900 * time.Millisecond)
		checkEqual(t, "the file before 2 s of silence", r.readFile("a"), "(none)")
		advanceTime(time.Second)
		checkEqual(t, "the file", r.readFile("a"), "one\ntwo")
		checkContains(t, r.sent[id+"_seq0002.txt"], "[OK] CREATE_FILE: Created 'a'")
		r.sendMessage("m3", "I think that is it.")
		advanceTime(3 * time.Second)
		checkContains(t, r.sentTexts()[2], "There is no command in that answer.")
		checkContains(t, r.sent[id+"_seq0003.txt"], "[FAILED] PARSE_ERROR: No commands found in the response")
		r.putFile("users/1/answer.txt", "[CREATE_FILE path=\"b\"]\nattached")
		r.putFile("users/1/REST.TXT", "[/CREATE_FILE]\n")
		r.sendMessage("m4", "The model says:", filepath.Join(r.workspace, "users/1/answer.txt"), filepath.Join(r.workspace, "users/1/REST.TXT"))
		advanceTime(3 * time.Second)
		checkEqual(t, "the file of the attachment", r.readFile("b"), "attached")
		checkContains(t, r.sent[id+"_seq0004.txt"], "[OK] CREATE_FILE: Created 'b'")
		r.putFile("users/1/answer.md", "[DONE]\nready\n[/DONE]")
		r.sendMessage("m4, second part", "", filepath.Join(r.workspace, "users/1/answer.md"))
		checkEqual(t, "status", (<-ended).Status, terminal.Done)
		checkContains(t, r.lastText(), "ready", "Created: `a`, `b`")
		said := len(r.sentTexts())
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\none") // offered again, long after it was read
		read, err := r.runner.ReadMessage(t.Context(), terminal.PersonMessage{Chat: "cli:1", ID: "m5", Text: "a new task"})
		if read || err != nil {
			t.Errorf("a new message: %t, %v", read, err)
		}
		checkEqual(t, "what it leads to", len(r.sentTexts()), said)
	})
}

func TestAMessageThatIsOfferedAgainRoundsLaterIsReadOnce(t *testing.T) {
	withPerson(t, func(r *fixture) {
		stop, ended := r.startTurn("go")
		for _, id := range []string{"m1", "m2", "m3"} {
			r.sendMessage(id, "[CREATE_FILE path=\""+id+"\"]\n[/CREATE_FILE]")
			advanceTime(3 * time.Second)
		}
		checkEqual(t, "sequence", r.session().SequenceNumber, 4)
		r.sendMessage("m1", "[CREATE_FILE path=\"m1\"]\n[/CREATE_FILE]")
		advanceTime(3 * time.Second)
		checkEqual(t, "sequence", r.session().SequenceNumber, 4)
		stop()
		<-ended
	})
}

func TestMessagesAreNumberedOverAllAttempts(t *testing.T) {
	withPerson(t, func(r *fixture) {
		stop, ended := r.startTurn("go")
		r.sendMessage("m1", "[MESSAGE]\nsame words\n[/MESSAGE]")
		advanceTime(3 * time.Second)
		stop()
		<-ended
		stop, ended = r.startTurn("go") // run again, as after a crash
		r.sendMessage("m2", "[MESSAGE]\nsame words\n[/MESSAGE]")
		advanceTime(3 * time.Second)
		stop()
		<-ended
		var numbers []int
		for _, f := range r.frames {
			if f.Kind == terminal.Message {
				numbers = append(numbers, f.Sequence)
			}
		}
		// The second attempt sends the document of round 2 with the number that it had.
		checkEqual(t, "numbers", fmt.Sprint(numbers), "[1 2 3 3 4 5]")
	})
}

func TestAFileThatIsSavedInTheInboxIsAResponse(t *testing.T) {
	withPerson(t, func(r *fixture) {
		_, ended := r.startTurn("go")
		r.putFile(r.folder("inbox", "second.txt"), "[DONE]\nready\n[/DONE]")
		r.putFile(r.folder("inbox", "first.txt"), "[CREATE_FILE path=\"a\"]\nunfin")
		r.putFile(r.folder("inbox", "notes.md"), "[CREATE_FILE path=\"never\"]\n[/CREATE_FILE]")
		r.putFile(r.folder("inbox", "deadbeef_seq0001.txt"), "[CREATE_FILE path=\"never\"]\n[/CREATE_FILE]") // of another session
		old := time.Now().Add(-time.Hour)
		musttest.Do(t, os.Chtimes(r.folder("inbox", "first.txt"), old, old))
		advanceTime(900 * time.Millisecond)
		r.putFile(r.folder("inbox", "first.txt"), "[CREATE_FILE path=\"a\"]\nfinished\n[/CREATE_FILE]")
		musttest.Do(t, os.Chtimes(r.folder("inbox", "first.txt"), old, old.Add(time.Second)))
		advanceTime(time.Minute)
		checkEqual(t, "status", (<-ended).Status, terminal.Done)
		checkEqual(t, "the file", r.readFile("a"), "finished")
		checkEqual(t, "what is no answer", r.readFile("never"), "(none)")
		left, _ := filepath.Glob(r.folder("inbox", "*"))
		processed, _ := filepath.Glob(r.folder("inbox", "processed", "*"))
		names := func(paths []string) string {
			for i := range paths {
				paths[i] = filepath.Base(paths[i])
			}
			slices.Sort(paths)
			return strings.Join(paths, " ")
		}
		checkEqual(t, "inbox", names(left), "deadbeef_seq0001.txt notes.md processed")
		checkEqual(t, "processed", names(processed), "first.txt second.txt")
	})
}

func TestATurnThatWaitsForAPersonCanBeStoppedAndResumed(t *testing.T) {
	withPerson(t, func(r *fixture) {
		stop, ended := r.startTurn("go")
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
		stop() // before the messages are joined
		checkEqual(t, "status", (<-ended).Status, terminal.Stopped)
		checkEqual(t, "the file", r.readFile("a"), "(none)")
		read, err := r.runner.ReadMessage(t.Context(), terminal.PersonMessage{Chat: "cli:1", ID: "m2", Text: "x"})
		if read || err != nil {
			t.Errorf("a message after the turn: %t, %v", read, err)
		}
		r.run += "+"
		stop, ended = r.startTurn("/resume")
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]") // offered again
		advanceTime(5 * time.Second)
		checkEqual(t, "the file", r.readFile("a"), "one")
		checkEqual(t, "sequence", r.session().SequenceNumber, 2)
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]") // and once more
		advanceTime(5 * time.Second)
		checkEqual(t, "sequence", r.session().SequenceNumber, 2)
		stop()
		<-ended
	})
}

func TestCommandsAndWrongFilesAreAnsweredWhileTheTurnWaits(t *testing.T) {
	withPerson(t, func(r *fixture) {
		stop, ended := r.startTurn("go")
		defer func() { stop(); <-ended }()
		r.sendMessage("1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
		advanceTime(3 * time.Second)
		r.sendMessage("2", "/diff")
		advanceTime(0)
		checkContains(t, r.lastText(), "What this task has changed: go")
		checkContains(t, r.sent[r.session().SessionID+".diff"], "+one")
		r.sendMessage("3", "/resume")
		advanceTime(0)
		checkContains(t, r.lastText(), "Round 2: give this file to the model")
		r.putFile("users/1/a.png", "x")
		r.sendMessage("4", "", filepath.Join(r.workspace, "users/1/a.png"))
		advanceTime(0)
		checkContains(t, r.lastText(), "`a.png` was not read")
		r.sendMessage("5", "/undo")
		advanceTime(0)
		checkContains(t, r.lastText(), "Removed: `a`", "RUN_COMMAND")
		checkEqual(t, "the file", r.readFile("a"), "(none)")
	})
}
