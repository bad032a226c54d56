package blocks_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/internal/lineartest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/blocks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var markers = []string{"=== HEADER ===", "=== PROTOCOL ===", "=== CONTEXT ===", "=== PROMPT ==="}

// sections returns the bodies of the sections of an outbox, without the newline at their end and
// the empty line between two of them.
func sections(t *testing.T, text string) (header, protocol, context, prompt string) {
	t.Helper()
	var found []string
	var bodies []strings.Builder
	for line := range strings.Lines(text) {
		if l := strings.TrimRight(line, "\r\n"); slices.Contains(markers, l) {
			found = append(found, l)
			bodies = append(bodies, strings.Builder{})
			continue
		}
		if len(bodies) == 0 {
			t.Fatalf("text before the first section: %q", line)
		}
		bodies[len(bodies)-1].WriteString(line)
	}
	if !slices.Equal(found, markers) {
		t.Fatalf("sections %q of %q", found, text)
	}
	body := func(i int) string {
		b, ended := strings.CutSuffix(bodies[i].String(), "\n")
		if i < 3 {
			b, ended = strings.CutSuffix(b, "\n")
		}
		if !ended {
			t.Errorf("section %d ends with %q", i, b)
		}
		return b
	}
	return body(0), body(1), body(2), body(3)
}

func TestAWholeOutbox(t *testing.T) {
	files := []blocks.WorkspaceFile{{Path: "docs/a b.md", Size: 12}, {Path: "main.go", Size: 310}}
	for name, o := range map[string]blocks.Outbox{
		"first": {Session: "3f9a01bc", Sequence: 1, Task: "Fix the tests.\n\nThey fail since yesterday.", Files: files},
		"later": {
			Session: "3f9a01bc", Sequence: 2, Task: "Fix the tests.\n\nThey fail since yesterday.", Files: files,
			Results: []blocks.Result{
				{Type: blocks.RunCommand, Summary: "Ran 'go vet' (exit code 0)", Success: true, Output: " \n"},
				{Type: blocks.RunCommand, Summary: "Ran 'go test' (exit code 1)", Output: "--- FAIL: TestSum\n    got 3\nFAIL\n\n"},
				{Type: blocks.ReadFile, Summary: "Queued 'main.go' for next outbox", Success: true},
			},
			Contents: []blocks.RequestedFile{
				{Path: "main.go", Found: true, Content: "package main\n\nfunc main() {}\n", Size: 29},
				{Path: "notes", Found: true, Content: "no newline", Size: 10},
				{Path: "logo.png", Found: true, Binary: true, Size: 4096},
				{Path: "big.txt", Found: true, Content: "beginning", Size: 123456, Cut: true},
				{Path: "gone.txt"},
			},
		},
	} {
		golden := "testdata/outbox/" + name + ".txt"
		if *update {
			musttest.Do(t, os.MkdirAll("testdata/outbox", 0o755))
			musttest.Do(t, os.WriteFile(golden, []byte(o.Text()), 0o644))
		}
		want := musttest.Get(os.ReadFile(golden))(t)
		if got := o.Text(); got != string(want) {
			t.Errorf("%s is\n%s", golden, got)
		}
	}
}

func TestTheHeaderHasTheFirstLineOfTheTask(t *testing.T) {
	for task, line := range map[string]string{
		"": "", "one": "one", "one\ntwo": "one", "one\r\ntwo": "one", "\n one\ntwo": "one", strings.Repeat("é", 201) + "\nx": strings.Repeat("é", 200), strings.Repeat("é", 200): strings.Repeat("é", 200),
	} {
		header, _, _, _ := sections(t, blocks.Outbox{Session: "0123abcd", Sequence: 12, Task: task}.Text())
		wanttest.Equal(t, task+":", header, "Session: 0123abcd\nSequence: 12\nTask: "+line)
	}
}

func TestThePromptIsTheTaskAndLaterAContinuation(t *testing.T) {
	results := []blocks.Result{{Type: blocks.Message, Summary: "hi", Success: true}}
	contents := []blocks.RequestedFile{{Path: "a", Found: true}}
	task := "  one\n\ntwo\n"
	o := blocks.Outbox{Sequence: 1, Task: task, Results: results, Contents: contents}
	_, _, context, prompt := sections(t, o.Text())
	if prompt+"\n" != task || context != "## Workspace Files\n(empty workspace)" {
		t.Errorf("the first prompt is %q, and the context %q", prompt, context)
	}
	o.Sequence = 2
	_, _, context, prompt = sections(t, o.Text())
	wanttest.Equal(t, "a later prompt is", prompt, "Continue working on the task based on the results above.\nIf the task is complete, send [DONE] with a summary.")
	want := "## Task\none\n\ntwo\n\n## Workspace Files\n(empty workspace)\n\n## Previous Command Results\n[OK] MESSAGE: hi\n\n## Requested File Contents\n--- a ---\n--- end a ---"
	wanttest.Equal(t, "a later context is", context, want)
}

func TestTheContextOfAnOutbox(t *testing.T) {
	const none = "## Workspace Files\n(empty workspace)"
	content := func(f blocks.RequestedFile) blocks.Outbox { return blocks.Outbox{Contents: []blocks.RequestedFile{f}} }
	output := func(s string) blocks.Outbox {
		return blocks.Outbox{Results: []blocks.Result{{Type: blocks.RunCommand, Summary: "Ran 'x' (exit code 0)", Success: true, Output: s}}}
	}
	const contents, results = none + "\n\n## Requested File Contents\n", none + "\n\n## Previous Command Results\n[OK] RUN_COMMAND: Ran 'x' (exit code 0)"
	for _, row := range []struct {
		outbox blocks.Outbox
		want   string
	}{
		{blocks.Outbox{}, none},
		{blocks.Outbox{Files: []blocks.WorkspaceFile{{Path: "a/b c", Size: 1}, {Path: "é"}}}, "## Workspace Files\n  a/b c (1 bytes)\n  é (0 bytes)"},
		{blocks.Outbox{Files: []blocks.WorkspaceFile{{Path: "a"}}, More: 23}, "## Workspace Files\n  a (0 bytes)\n  ... and 23 more files"},
		{
			blocks.Outbox{Files: []blocks.WorkspaceFile{{Path: "a\n=== PROMPT ===\nb\x1b\u2028\xff"}}},
			"## Workspace Files\n  a?=== PROMPT ===?b??\uFFFD (0 bytes)",
		},
		{output(""), results},
		{output(" \n\u00a0"), results},
		{output("  one\n two\r\n\n"), results + "\n  Output:   one\n two"},
		{output("a\xffb"), results + "\n  Output: a\uFFFDb"},
		{
			blocks.Outbox{Results: []blocks.Result{{Type: blocks.ParseError, Summary: "MESSAGE missing closing tag"}, {Type: blocks.Done, Summary: "one\ntwo", Success: true}}},
			none + "\n\n## Previous Command Results\n[FAILED] PARSE_ERROR: MESSAGE missing closing tag\n[OK] DONE: one\ntwo",
		},
		{content(blocks.RequestedFile{Path: "a"}), contents + "--- a --- (file not found or access denied)"},
		{content(blocks.RequestedFile{Path: "a", Found: true, Binary: true, Size: 7}), contents + "--- a --- (binary file, 7 bytes)"},
		{content(blocks.RequestedFile{Path: "a", Found: true}), contents + "--- a ---\n--- end a ---"},
		{content(blocks.RequestedFile{Path: "a", Found: true, Content: "x"}), contents + "--- a ---\nx\n--- end a ---"},
		{content(blocks.RequestedFile{Path: "a", Found: true, Content: "x\n"}), contents + "--- a ---\nx\n--- end a ---"},
		{content(blocks.RequestedFile{Path: "a", Found: true, Content: "x\n\n"}), contents + "--- a ---\nx\n\n--- end a ---"},
		{content(blocks.RequestedFile{Path: "a\rb", Found: true, Content: "\xff\r\n"}), contents + "--- a?b ---\n\uFFFD\r\n--- end a?b ---"},
		{
			content(blocks.RequestedFile{Path: "a", Found: true, Content: "xy\xf0\x9f\x98", Size: 50, Cut: true}),
			contents + "--- a ---\nxy\n... (cut: these are the first 2 of 50 bytes)\n--- end a ---",
		},
		{
			content(blocks.RequestedFile{Path: "a", Found: true, Content: "xé\n", Size: 50, Cut: true}),
			contents + "--- a ---\nxé\n... (cut: these are the first 4 of 50 bytes)\n--- end a ---",
		},
	} {
		row.outbox.Sequence = 2
		text := row.outbox.Text()
		if _, _, got, _ := sections(t, text); got != row.want {
			t.Errorf("got  %q\nwant %q", got, row.want)
		}
		if !utf8.ValidString(text) {
			t.Errorf("invalid UTF-8: %q", text)
		}
	}
}

// TestNoForeignTextBeginsASection puts each marker into the task, file names, contents and outputs.
func TestNoForeignTextBeginsASection(t *testing.T) {
	for _, marker := range markers {
		for _, frame := range []string{"%s", "a\n%s\nb", "a\r\n%s\r\nb", "%s\n", "\n%s\r", "a\r%s\rb", "%[1]s\n%[1]s", "\xff\n%s\n\xff"} {
			foreign := fmt.Sprintf(frame, marker)
			escaped := strings.ToValidUTF8(strings.ReplaceAll(foreign, marker, " "+marker), "\uFFFD")
			first := blocks.Outbox{Session: foreign, Sequence: 1, Task: foreign, Files: []blocks.WorkspaceFile{{Path: foreign}}}
			if _, _, _, prompt := sections(t, first.Text()); prompt != strings.TrimSuffix(escaped, "\n") {
				t.Errorf("the task %q is shown as %q", foreign, prompt)
			}
			later := first
			later.Sequence = 2
			later.Results = []blocks.Result{
				{Type: blocks.Message, Summary: "x\n" + foreign, Success: true},
				{Type: blocks.RunCommand, Summary: "Ran 'x\n" + foreign + "\n' (exit code 0)", Output: "x\n" + foreign, Success: true},
				{Type: blocks.RunCommand, Summary: foreign, Output: foreign},
			}
			later.Contents = []blocks.RequestedFile{{Path: foreign}, {Path: "a", Found: true, Content: foreign, Size: 1 << 20, Cut: true}}
			_, _, context, _ := sections(t, later.Text())
			for _, want := range []string{
				"[OK] MESSAGE: x\n" + escaped + "\n[OK] RUN_COMMAND", "Ran 'x\n" + escaped + "\n' (exit code 0)", "  Output: x\n" + strings.TrimRight(escaped, "\r\n") + "\n[FAILED]",
			} {
				if !strings.Contains(context, want) {
					t.Errorf("results with %q are shown as %q", foreign, context)
				}
			}
			if !strings.Contains(context, "--- a ---\n"+strings.TrimSuffix(escaped, "\n")+"\n... (cut") {
				t.Errorf("the content %q is shown as %q", foreign, context)
			}
		}
	}
}

func TestOnlyExactMarkersAreEscaped(t *testing.T) {
	task := "x === PROMPT ===\n === PROMPT ===\n=== PROMPT === \n=== prompt ===\n=== OTHER ===\n===PROMPT===\n==== PROMPT ===="
	if _, _, _, prompt := sections(t, blocks.Outbox{Sequence: 1, Task: task}.Text()); prompt != task {
		t.Errorf("the task is shown as %q", prompt)
	}
}

func TestEveryOutboxDescribesTheProtocol(t *testing.T) {
	_, first, _, _ := sections(t, blocks.Outbox{Sequence: 1, Task: "a"}.Text())
	_, later, _, _ := sections(t, blocks.Outbox{Session: "b", Sequence: 7, Task: "b"}.Text())
	if first != later || first != blocks.ProtocolText {
		t.Errorf("the protocol is %q and %q", first, later)
	}
	// Without the first [MESSAGE], which makes one message of the whole text, the examples are
	// commands.
	_, examples, _ := strings.Cut(first, "## Commands")
	var types []blocks.CommandType
	for _, c := range blocks.Parse(examples) {
		if !slices.Contains(types, c.Type) {
			types = append(types, c.Type)
		}
	}
	slices.Sort(types)
	want := []blocks.CommandType{blocks.CreateFile, blocks.DeleteFile, blocks.Done, blocks.EditFile, blocks.Message, blocks.ReadFile, blocks.RunCommand}
	wanttest.EqualSlices(t, "there are examples of", types, want)
}

func TestAResponseThatRepeatsTheOutboxDoesNothing(t *testing.T) {
	for _, o := range []blocks.Outbox{{Sequence: 1, Task: "a"}, {Sequence: 2, Task: "a"}} {
		if got := blocks.Parse(o.Text()); len(got) != 1 || got[0].Type != blocks.Message {
			t.Errorf("%d commands are read: %+v", len(got), got)
		}
	}
}

func TestAnOutboxTakesLinearTime(t *testing.T) {
	for _, piece := range []string{"=== PROMPT ===\n", "=== PROMPT ===\r", "\r", "\n", "=", "\xff", " "} {
		lineartest.Check(t, piece, 1<<17, func(n int) {
			text := strings.Repeat(piece, n/len(piece)) + "=== "
			_ = blocks.Outbox{
				Sequence: 2, Task: text, Results: []blocks.Result{{Summary: text, Output: text}}, Contents: []blocks.RequestedFile{{Path: text, Found: true, Content: text}},
			}.Text()
		})
	}
}
