package blocks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// contentsIn returns the section of an outbox with the requested files.
func contentsIn(outbox string) string {
	_, rest, _ := strings.Cut(outbox, "## Requested File Contents\n")
	rest, _, _ = strings.Cut(rest, "\n=== PROMPT")
	return rest
}

func TestARequestedFileIsCheckedAgainWhenItIsRead(t *testing.T) {
	names := []string{"outside", "own", "folder", "gone", "within", "stays"}
	var response strings.Builder
	for _, name := range names {
		fmt.Fprintf(&response, "[READ_FILE path=\"%s\"]\n", name)
	}
	response.WriteString("[RUN_COMMAND]\nln -sf /etc/passwd outside; ln -sf users/1/secret own; rm folder; mkdir folder; rm gone; ln -sf stays within\n[/RUN_COMMAND]")
	r := newFixture(t, response.String(), doneBlock)
	for _, name := range names {
		r.putFile(name, "the "+name)
	}
	r.putFile("users/1/secret", "secret")
	r.runToDone("go")
	out := r.outboxes()[1]
	checkEqual(t, "results", strings.Count(resultsIn(out), "[OK] READ_FILE: Queued '"), len(names))
	checkEqual(t, "contents", contentsIn(out), "--- outside --- (file not found or access denied)\n--- own --- (file not found or access denied)\n"+
		"--- folder --- (file not found or access denied)\n--- gone --- (file not found or access denied)\n"+
		"--- within ---\nthe stays\n--- end within ---\n--- stays ---\nthe stays\n--- end stays ---\n")
}

// everyFileCommand returns a response with each of the four file commands for a path.
func everyFileCommand(path string) string {
	return fmt.Sprintf("[CREATE_FILE path=\"%[1]s\"]\nnew\n[/CREATE_FILE]\n[EDIT_FILE path=\"%[1]s\" start_line=\"1\" end_line=\"1\"]\nnew\n[/EDIT_FILE]\n"+
		"[READ_FILE path=\"%[1]s\"]\n[DELETE_FILE path=\"%[1]s\"]\n", path)
}

// failures returns the results of everyFileCommand for a path if all four commands fail. %s in a
// text stands for the path.
func failures(path, create, edit, read, remove string) string {
	text := fmt.Sprintf("[FAILED] CREATE_FILE: %s\n[FAILED] EDIT_FILE: %s\n[FAILED] READ_FILE: %s\n[FAILED] DELETE_FILE: %s\n", create, edit, read, remove)
	return strings.ReplaceAll(text, "%s", path)
}

func TestTheModelIsToldWhyAFileCommandFailed(t *testing.T) {
	const rejected, none = "REJECTED: Path '%s' is outside workspace", "File '%s' not found"
	var response, want strings.Builder
	for _, path := range []string{"../secret", "/etc/passwd", "users/1/secret", "link/secret", "dangling", "", "."} {
		response.WriteString(everyFileCommand(path))
		want.WriteString(failures(path, rejected, rejected, rejected, rejected))
	}
	for path, reason := range map[string]string{"folder": "is a directory", "file/below": "not a directory"} {
		response.WriteString(everyFileCommand(path))
		want.WriteString(failures(path, "Failed to create '%s': "+reason, none, none, none))
	}
	response.WriteString("[EDIT_FILE path=\"none\" start_line=\"1\" end_line=\"1\"]\n[/EDIT_FILE]\n[READ_FILE path=\"none\"]\n[DELETE_FILE path=\"none\"]\n")
	want.WriteString("[FAILED] EDIT_FILE: File 'none' not found\n[FAILED] READ_FILE: File 'none' not found\n[FAILED] DELETE_FILE: File 'none' not found")
	r := newFixture(t, response.String(), doneBlock)
	outside := t.TempDir()
	r.putFile(filepath.Join(outside, "secret"), "secret")
	for name, target := range map[string]string{"link": outside, "dangling": filepath.Join(outside, "none")} {
		musttest.Do(t, os.Symlink(target, filepath.Join(r.workspace, name)))
	}
	r.putFile("folder/file", "one\n")
	r.putFile("file", "one\n")
	r.putFile("users/1/secret", "secret")
	r.runToDone("go")
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), want.String())
	checkEqual(t, "contents", contentsIn(r.outboxes()[1]), "")
	checkEqual(t, "the last message", r.lastText(), "All done.")
	for path, content := range map[string]string{"users/1/secret": "secret", "link/secret": "secret", "folder/file": "one\n", "file": "one\n", "dangling": "(none)"} {
		checkEqual(t, path, r.readFile(path), content)
	}
}

func TestASystemErrorOfAFileIsAFailedResult(t *testing.T) {
	long := strings.Repeat("x", 300)
	r := newFixture(t, strings.Replace(everyFileCommand(long), "[READ_FILE path=\""+long+"\"]\n", "", 1), doneBlock)
	r.runToDone("go")
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), "[FAILED] CREATE_FILE: Failed to create '"+long+"': file name too long\n"+
		"[FAILED] EDIT_FILE: Failed to edit '"+long+"': file name too long\n[FAILED] DELETE_FILE: Failed to delete '"+long+"': file name too long")
}

func TestAFileThatChangesDuringTheQuestionIsLeftAlone(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a\"]\nnew\n[/CREATE_FILE]\n[EDIT_FILE path=\"b\" start_line=\"1\" end_line=\"1\"]\nnew\n[/EDIT_FILE]\n[CREATE_FILE path=\"c\"]\nnew\n[/CREATE_FILE]", doneBlock)
	r.settings.Approve = "all"
	r.putFile("a", "old\n")
	r.putFile("b", "old\n")
	next := []string{"a", "b", "c"}
	r.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		r.putFile(next[0], "of the person\n")
		next = next[1:]
		return terminal.Answer{Text: "Yes", By: "ann"}, nil
	}
	r.runToDone("go")
	var want []string
	for i, command := range []string{"CREATE_FILE: Failed to create", "EDIT_FILE: Failed to edit", "CREATE_FILE: Failed to create"} {
		name := string(rune('a' + i))
		want = append(want, fmt.Sprintf("[FAILED] %s '%s': the file has changed meanwhile", command, name))
		checkEqual(t, name, r.readFile(name), "of the person\n")
	}
	checkEqual(t, "results", resultsIn(r.outboxes()[1]), strings.Join(want, "\n"))
}

func TestTheFilesInAnOutboxAreLimitedInNumberAndSize(t *testing.T) {
	r := newFixture(t, "[READ_FILE path=\"big\"]\n[READ_FILE path=\"binary\"]\n[READ_FILE path=\"exact\"]\n[READ_FILE path=\"big\"]", doneBlock)
	line := strings.Repeat("x", 99) + "\n"
	r.putFile("big", strings.Repeat(line, 1000)+"y")
	r.putFile("exact", strings.Repeat(line, 1000))
	r.putFile("binary", "GIF\x00\x01")
	const files = 1003
	for i := range files - 3 {
		r.putFile(fmt.Sprintf("many/%04d", i), "")
	}
	r.runToDone("go")
	for i, out := range r.outboxes() {
		_, list, _ := strings.Cut(out, "## Workspace Files\n")
		lines := strings.Split(list, "\n")
		checkEqual(t, fmt.Sprintf("outbox %d: first files", i+1), strings.Join(lines[:4], "|"), "  big (100001 bytes)|  binary (5 bytes)|  exact (100000 bytes)|  many/0000 (0 bytes)")
		checkEqual(t, fmt.Sprintf("outbox %d: last files", i+1), strings.Join(lines[999:1002], "|"), "  many/0996 (0 bytes)|  ... and 3 more files|")
	}
	cut := strings.Repeat(line, 1000) + "... (cut: these are the first 100000 of 100001 bytes)\n"
	if got, want := contentsIn(r.outboxes()[1]), "--- big ---\n"+cut+"--- end big ---\n--- binary --- (binary file, 5 bytes)\n"+
		"--- exact ---\n"+strings.Repeat(line, 1000)+"--- end exact ---\n"; got != want {
		t.Errorf("contents of %d bytes, want %d:\n%s", len(got), len(want), strings.ReplaceAll(got, line, ""))
	}
}
