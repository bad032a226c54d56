package blocks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

func TestAQuestionHidesNothing(t *testing.T) {
	for command, want := range map[string]string{
		"touch pwned #\rls -l":         "touch pwned #␍ls -l",
		"ls -l \x1b];touch pwned":      "ls -l ␛];touch pwned",
		"ls # \u202etouch\u200b pwned": "ls # <U+202E>touch<U+200B> pwned",
		"echo '```'\ntouch pwned":      "````sh\necho '```'\ntouch pwned\n````",
	} {
		r := newFixture(t, "[RUN_COMMAND]\n"+command+"\n[/RUN_COMMAND]", doneBlock)
		r.settings.Approve = "run"
		r.answerWith("No")
		r.runToDone("go")
		checkContains(t, r.asked[0], want)
		checkContains(t, terminal.Clean(r.asked[0]), want)
		checkEqual(t, "what was refused", r.readFile("pwned"), "(none)")
	}
}

func TestAQuestionShowsTheResolvedPath(t *testing.T) {
	r := newFixture(t, "[DELETE_FILE path=\"build/"+strings.Repeat("./", 400)+"../src/main.go\"]\n[DELETE_FILE path=\"a  b\"]\n[DELETE_FILE path=\"link\"]", doneBlock)
	r.settings.Approve = "run"
	r.putFile("src/main.go", "x")
	r.putFile("build/x", "x")
	r.putFile("a  b", "x")
	musttest.Do(t, os.Symlink("src/main.go", filepath.Join(r.workspace, "link")))
	r.answerWith("No", "No", "No")
	r.runToDone("go")
	checkEqual(t, "questions", strings.Join(r.asked, "|"), "🔐 Delete `src/main.go`?|🔐 Delete `a  b`?|🔐 Delete `link`, which is a link to `src/main.go`?")
}

func TestACommandThatIsTooLongForAQuestionIsShownWhole(t *testing.T) {
	command := "ls #" + strings.Repeat("x", 2000) + "\ntouch pwned"
	r := newFixture(t, "[RUN_COMMAND]\n"+command+"\n[/RUN_COMMAND]", doneBlock)
	r.settings.Approve = "run"
	r.answerWith("No")
	r.runToDone("go")
	checkEqual(t, "the document", r.sent["command.txt"], command)
	checkContains(t, r.asked[0], "more bytes)", "x\ntouch pwned\n```")
	var log string
	for _, f := range r.frames {
		if f.Audit {
			log = f.Text
		}
	}
	checkEqual(t, "the audit", log, fmt.Sprintf("approval: RUN_COMMAND %q: No by user ann", command))
}

func TestACommandIsRefusedIfItsDocumentCannotBeSent(t *testing.T) {
	r := newFixture(t, "[RUN_COMMAND]\ntouch pwned #"+strings.Repeat("x", 2000)+"\n[/RUN_COMMAND]", doneBlock)
	r.settings.Approve = "run"
	r.answerWith("Yes")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	r.runToDone("go")
	checkEqual(t, "questions", len(r.asked), 0)
	checkEqual(t, "pwned", r.readFile("pwned"), "(none)")
	checkContains(t, r.audited[0], ": No by rule (no answer: ")
}

func TestABlankRunDoesNotHideTheEndOfACommand(t *testing.T) {
	command := "ls" + strings.Repeat("\n", 300) + "touch pwned" + strings.Repeat(" ", 1000) + "&& touch more"
	r := newFixture(t, "[RUN_COMMAND]\n"+command+"\n[/RUN_COMMAND]", doneBlock)
	r.settings.Approve = "run"
	r.answerWith("No")
	r.runToDone("go")
	checkEqual(t, "the document", r.sent["command.txt"], command)
	checkEqual(t, "the question", r.asked[0], "🔐 Run this command?\n```sh\nls\n(300 blank characters)\ntouch pwned (1000 blank characters) && touch more\n```")
}

func TestTwoChatsDoNotLoseEachOthersEdits(t *testing.T) {
	const lines = 20
	r := newFixture(t)
	r.config.Command = "sed '1,/^=== PROMPT ===$/d'" // a model that answers with its task
	r.putFile("f", strings.Repeat("old\n", 2*lines))
	r.start()
	var edits [2]strings.Builder
	for i := range 2 * lines {
		fmt.Fprintf(&edits[i%2], "[EDIT_FILE path=\"f\" start_line=\"%d\" end_line=\"%d\"]\nnew\n[/EDIT_FILE]\n", i+1, i+1)
	}
	var work sync.WaitGroup
	for chat := range edits {
		work.Go(func() {
			name := fmt.Sprint("chat-", chat)
			out, err := r.runner.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: name, Text: edits[chat].String() + doneBlock, RunID: name}}, protocoltest.Frames(r.emit))
			if err != nil || out.Status != terminal.Done {
				t.Errorf("%s: %s, %v", name, out.Status, err)
			}
		})
	}
	work.Wait()
	checkEqual(t, "the file", r.readFile("f"), strings.Repeat("new\n", 2*lines))
}

func TestAnAgentWithAnotherWorkspaceNeitherResumesNorUndoes(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"LICENSE\"]\nmine\n[/CREATE_FILE]")
	r.putFile(filepath.Join(r.model, "then"), "crash")
	for _, dir := range []string{"pa", "pb"} {
		r.putFile(dir+"/x", "")
	}
	r.config.Cwd = filepath.Join(r.workspace, "pa")
	_ = r.runTurn(t.Context(), "go")
	checkEqual(t, "the file", r.readFile("pa/LICENSE"), "mine")
	r.putFile("pb/LICENSE", "mine")
	r.config.Cwd, r.runner = filepath.Join(r.workspace, "pb"), nil
	r.runNextMessage("/resume")
	checkContains(t, r.lastText(), "There is no unfinished task.")
	r.runNextMessage("/undo")
	checkContains(t, r.lastText(), "No task has changed a file here.")
	checkEqual(t, "a file that no task has touched", r.readFile("pb/LICENSE"), "mine")
}

func TestFilesThatACommandPutsIntoTheSessionsFolderDoNotBlockTheChat(t *testing.T) {
	const damage = "cd users/1/blocks; rm -rf outbox sessions; ln -s / outbox; mkfifo sessions; mkdir -p inbox/processed/x; ln -s /etc/passwd inbox/a.txt"
	r := newFixture(t, "[RUN_COMMAND]\n"+damage+"\n[/RUN_COMMAND]", doneBlock)
	r.start()
	if _, err := r.runner.Turn(t.Context(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "1", Text: "go", RunID: "1"}, RunName: "1"}, protocoltest.Frames(r.emit)); err != nil {
		t.Logf("the turn of the command: %v", err) // it may well fail
	}
	r.script("", "[CREATE_FILE path=\"a\"]\n[/CREATE_FILE]\n"+doneBlock)
	r.runNextMessage("again")
	checkEqual(t, "the next task", r.readFile("a"), "")
}

func TestAFolderInTheWayOfAResponseIsRemoved(t *testing.T) {
	const block = "for d in inbox/processed outbox; do mkdir -p users/1/blocks/$d/$(ls users/1/blocks/sessions | cut -c1-8)_seq000%d.txt/sub; done"
	r := newFixture(t, "[RUN_COMMAND]\n"+fmt.Sprintf(block, 1)+"; "+fmt.Sprintf(block, 2)+"; true\n[/RUN_COMMAND]", doneBlock)
	r.runToDone("go")
	checkContains(t, r.lastText(), "All done.")
}

func TestMessagesAndFilesAreBothRead(t *testing.T) {
	withPerson(t, func(r *fixture) {
		_, ended := r.startTurn("go")
		id := r.session().SessionID
		r.sendMessage("m1", "[CREATE_FILE path=\"a\"]\n[/CREATE_FILE]")
		r.putFile(r.folder("inbox", id+"_seq0001.txt"), "[CREATE_FILE path=\"c\"]\n[/CREATE_FILE]")
		r.putFile(r.folder("inbox", "b.txt"), "[CREATE_FILE path=\"b\"]\n[/CREATE_FILE]")
		old := time.Now().Add(-time.Hour)
		musttest.Do(t, os.Chtimes(r.folder("inbox", "b.txt"), old, old))
		advanceTime(time.Minute)
		r.sendMessage("m2", doneBlock)
		<-ended
		for _, name := range []string{"a", "b", "c"} {
			checkEqual(t, "the file "+name, r.readFile(name), "")
		}
	})
}
