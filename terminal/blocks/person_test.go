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

	"nanobot/terminal"
)

// personally runs a turn in which a person answers, in a bubble where time costs nothing.
func personally(t *testing.T, story func(r *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t)
		r.settings.Agent = "person"
		r.config.Command = "true"
		story(r)
	})
}

// begin begins a turn. ended is closed when it has ended.
func (r *fixture) begin(text string) (stop context.CancelFunc, ended chan terminal.Outcome) {
	r.t.Helper()
	r.start()
	ctx, stop := context.WithCancel(r.t.Context())
	ended = make(chan terminal.Outcome, 1)
	go func() { ended <- r.turn(ctx, text) }()
	synctest.Wait()
	return stop, ended
}

// say has the person send a message, which must be read.
func (r *fixture) say(id, text string, media ...string) {
	r.t.Helper()
	read, err := r.runner.ReadMessage(r.t.Context(), terminal.PersonMessage{Chat: "cli:" + r.chat, ID: id, Text: text, Media: media})
	if err != nil || !read {
		r.t.Fatalf("%q: read %t, %v", text, read, err)
	}
}

// isWithin lets time pass.
func isWithin(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestAPersonBringsTheAnswersOfAModel(t *testing.T) {
	personally(t, func(r *fixture) {
		_, ended := r.begin("make a file")
		id := r.session().SessionID
		same(t, "messages", strings.Join(r.texts(), "|"), "Round 1: give this file to the model, and send me its answer, as text or as a .txt or .md file.")
		has(t, r.sent[id+"_seq0001.txt"], "=== PROMPT ===\nmake a file")
		r.say("m1", "[CREATE_FILE path=\"a\"]\none")
		isWithin(1900 * time.Millisecond)
		r.say("m2", "two\n[/CREATE_FILE]")
		isWithin(1900 * time.Millisecond)
		same(t, "the file before 2 s of silence", r.get("a"), "(none)")
		isWithin(time.Second)
		same(t, "the file", r.get("a"), "one\ntwo")
		has(t, r.sent[id+"_seq0002.txt"], "[OK] CREATE_FILE: Created 'a'")
		r.say("m3", "I think that is it.")
		isWithin(3 * time.Second)
		has(t, r.texts()[2], "There is no command in that answer.")
		has(t, r.sent[id+"_seq0003.txt"], "[FAILED] PARSE_ERROR: No commands found in the response")
		r.put("users/1/answer.txt", "[CREATE_FILE path=\"b\"]\nattached")
		r.put("users/1/REST.TXT", "[/CREATE_FILE]\n")
		r.say("m4", "The model says:", filepath.Join(r.workspace, "users/1/answer.txt"), filepath.Join(r.workspace, "users/1/REST.TXT"))
		isWithin(3 * time.Second)
		same(t, "the file of the attachment", r.get("b"), "attached")
		has(t, r.sent[id+"_seq0004.txt"], "[OK] CREATE_FILE: Created 'b'")
		r.put("users/1/answer.md", "[DONE]\nready\n[/DONE]")
		r.say("m4, second part", "", filepath.Join(r.workspace, "users/1/answer.md"))
		same(t, "status", (<-ended).Status, terminal.Done)
		has(t, r.last(), "ready", "Created: `a`, `b`")
		said := len(r.texts())
		r.say("m1", "[CREATE_FILE path=\"a\"]\none") // offered again, long after it was read
		read, err := r.runner.ReadMessage(t.Context(), terminal.PersonMessage{Chat: "cli:1", ID: "m5", Text: "a new task"})
		if read || err != nil {
			t.Errorf("a new message: %t, %v", read, err)
		}
		same(t, "what it leads to", len(r.texts()), said)
	})
}

func TestAMessageThatIsOfferedAgainRoundsLaterIsReadOnce(t *testing.T) {
	personally(t, func(r *fixture) {
		stop, ended := r.begin("go")
		for _, id := range []string{"m1", "m2", "m3"} {
			r.say(id, "[CREATE_FILE path=\""+id+"\"]\n[/CREATE_FILE]")
			isWithin(3 * time.Second)
		}
		same(t, "sequence", r.session().SequenceNumber, 4)
		r.say("m1", "[CREATE_FILE path=\"m1\"]\n[/CREATE_FILE]")
		isWithin(3 * time.Second)
		same(t, "sequence", r.session().SequenceNumber, 4)
		stop()
		<-ended
	})
}

func TestMessagesAreNumberedOverAllAttempts(t *testing.T) {
	personally(t, func(r *fixture) {
		stop, ended := r.begin("go")
		r.say("m1", "[MESSAGE]\nsame words\n[/MESSAGE]")
		isWithin(3 * time.Second)
		stop()
		<-ended
		stop, ended = r.begin("go") // run again, as after a crash
		r.say("m2", "[MESSAGE]\nsame words\n[/MESSAGE]")
		isWithin(3 * time.Second)
		stop()
		<-ended
		var numbers []int
		for _, f := range r.frames {
			if f.Kind == terminal.Message {
				numbers = append(numbers, f.Sequence)
			}
		}
		// The second attempt sends the document of round 2 with the number that it had.
		same(t, "numbers", fmt.Sprint(numbers), "[1 2 3 3 4 5]")
	})
}

func TestAFileThatIsSavedInTheInboxIsAnAnswer(t *testing.T) {
	personally(t, func(r *fixture) {
		_, ended := r.begin("go")
		r.put(r.folder("inbox", "second.txt"), "[DONE]\nready\n[/DONE]")
		r.put(r.folder("inbox", "first.txt"), "[CREATE_FILE path=\"a\"]\nunfin")
		r.put(r.folder("inbox", "notes.md"), "[CREATE_FILE path=\"never\"]\n[/CREATE_FILE]")
		r.put(r.folder("inbox", "deadbeef_seq0001.txt"), "[CREATE_FILE path=\"never\"]\n[/CREATE_FILE]") // of another session
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(r.folder("inbox", "first.txt"), old, old); err != nil {
			t.Fatal(err)
		}
		isWithin(900 * time.Millisecond)
		r.put(r.folder("inbox", "first.txt"), "[CREATE_FILE path=\"a\"]\nfinished\n[/CREATE_FILE]")
		if err := os.Chtimes(r.folder("inbox", "first.txt"), old, old.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		isWithin(time.Minute)
		same(t, "status", (<-ended).Status, terminal.Done)
		same(t, "the file", r.get("a"), "finished")
		same(t, "what is no answer", r.get("never"), "(none)")
		left, _ := filepath.Glob(r.folder("inbox", "*"))
		processed, _ := filepath.Glob(r.folder("inbox", "processed", "*"))
		names := func(paths []string) string {
			for i := range paths {
				paths[i] = filepath.Base(paths[i])
			}
			slices.Sort(paths)
			return strings.Join(paths, " ")
		}
		same(t, "inbox", names(left), "deadbeef_seq0001.txt notes.md processed")
		same(t, "processed", names(processed), "first.txt second.txt")
	})
}

func TestATurnThatWaitsForAPersonCanBeStoppedAndResumed(t *testing.T) {
	personally(t, func(r *fixture) {
		stop, ended := r.begin("go")
		r.say("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
		stop() // before the messages are joined
		same(t, "status", (<-ended).Status, terminal.Stopped)
		same(t, "the file", r.get("a"), "(none)")
		read, err := r.runner.ReadMessage(t.Context(), terminal.PersonMessage{Chat: "cli:1", ID: "m2", Text: "x"})
		if read || err != nil {
			t.Errorf("a message after the turn: %t, %v", read, err)
		}
		r.run += "+"
		stop, ended = r.begin("/resume")
		r.say("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]") // offered again
		isWithin(5 * time.Second)
		same(t, "the file", r.get("a"), "one")
		same(t, "sequence", r.session().SequenceNumber, 2)
		r.say("m1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]") // and once more
		isWithin(5 * time.Second)
		same(t, "sequence", r.session().SequenceNumber, 2)
		stop()
		<-ended
	})
}

func TestCommandsAndWrongFilesAreAnsweredWhileTheTurnWaits(t *testing.T) {
	personally(t, func(r *fixture) {
		stop, ended := r.begin("go")
		defer func() { stop(); <-ended }()
		r.say("1", "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]")
		isWithin(3 * time.Second)
		r.say("2", "/diff")
		isWithin(0)
		has(t, r.last(), "What this task has changed: go")
		has(t, r.sent[r.session().SessionID+".diff"], "+one")
		r.say("3", "/resume")
		isWithin(0)
		has(t, r.last(), "Round 2: give this file to the model")
		r.put("users/1/a.png", "x")
		r.say("4", "", filepath.Join(r.workspace, "users/1/a.png"))
		isWithin(0)
		has(t, r.last(), "`a.png` was not read")
		r.say("5", "/undo")
		isWithin(0)
		has(t, r.last(), "Removed: `a`", "RUN_COMMAND")
		same(t, "the file", r.get("a"), "(none)")
	})
}
