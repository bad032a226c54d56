package blocks_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// createBlock is a block that creates a file.
func createBlock(path string) string {
	return "[CREATE_FILE path=\"" + path + "\"]\nevil\n[/CREATE_FILE]\n"
}

// newProtectFixture returns a fixture whose workspace is a repository with links into and out of
// protected folders.
func newProtectFixture(t *testing.T, responses ...string) *fixture {
	t.Helper()
	r := newFixture(t, responses...)
	for _, name := range []string{".git/config", ".git/hooks/old", "conf/tasks.json", "plain/a", "store/HEAD"} {
		r.putFile(name, "1\n")
	}
	for link, target := range map[string]string{
		"hooks": ".git/hooks", "cfg": ".git/config", "chain": ".vscode/tasks.json", ".vscode": "conf", "dangling": ".git/new", "plain/up": "..",
	} {
		musttest.Do(t, os.Symlink(target, filepath.Join(r.workspace, link)))
	}
	r.settings.Approve = "run"
	return r
}

// protectedPaths are paths to protected files of newProtectFixture, or to files that would be.
var protectedPaths = []string{
	".git/config", ".GIT/config", "sub/.git/hooks/x", "sub/.git", ".git/modules/m/config", ".git/worktrees/w/gitdir", "./plain/../.git/config",
	"plain/up/.git/config", "hooks/pre-commit", "cfg", "dangling", ".vscode/tasks.json", ".vscode/new", "chain", ".envrc", "sub/.husky/pre-commit",
	".idea/x/y", ".devcontainer/z", ".bashrc", "home/.profile", ".git./x", ".g\u200cit/x", "store/config", "bare/HEAD", "sub/.hg/hgrc",
}

func TestAFileThatToolsExecuteIsWrittenOnlyIfThePersonAgrees(t *testing.T) {
	var commands, refused string
	for _, path := range protectedPaths {
		commands += createBlock(path)
		refused += "[FAILED] CREATE_FILE: REJECTED: not approved: " + path + "\n"
	}
	for _, approve := range []string{"run", "all", "never"} {
		r := newProtectFixture(t, commands, doneBlock)
		r.settings.Approve = approve
		before := map[string]string{}
		for _, path := range protectedPaths {
			before[path] = r.readFile(path)
		}
		r.answerWith(slices.Repeat([]string{"No"}, len(protectedPaths))...)
		r.runToDone("go")
		asked := map[string]int{"run": len(protectedPaths), "all": len(protectedPaths), "never": 0}[approve]
		checkEqual(t, approve+": questions", len(r.asked), asked)
		results := strings.ReplaceAll(resultsIn(r.outboxes()[1]), protectedReason, "")
		checkEqual(t, approve+": results", results+"\n", refused)
		for _, path := range protectedPaths {
			checkEqual(t, approve+": "+path, r.readFile(path), before[path])
		}
	}
}

// protectedReason is what the model is told if nobody is asked.
const protectedReason = " (protected, because the user's tools may execute it)"

func TestAQuestionAboutAProtectedFileShowsTheChangeAndOffersNoApprovalForMore(t *testing.T) {
	r := newProtectFixture(t, createBlock("cfg")+"[EDIT_FILE path=\".git/hooks/old\" start_line=\"1\" end_line=\"1\"]\nI\n[/EDIT_FILE]\n", doneBlock)
	var options []string
	r.answerWith("Yes", "Yes")
	answer := r.ask
	r.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		options = append(options, strings.Join(q.Options, "|"))
		return answer(ctx, q)
	}
	r.runToDone("go")
	const note = "\n⚠ This file is protected: your tools may execute it later."
	checkEqual(t, "questions", strings.Join(r.asked, "\n--\n"), "🔐 Overwrite `.git/config`?\n```diff\n@@ -1 +1 @@\n-1\n+evil\n\\ No newline at end of file\n```"+note+"\n--\n"+
		"🔐 Edit `.git/hooks/old`?\n```diff\n@@ -1 +1 @@\n-1\n+I\n```"+note)
	checkEqual(t, "options", strings.Join(options, ", "), "Yes|No, Yes|No")
	checkEqual(t, "the file behind the link", r.readFile(".git/config"), "evil")
	checkEqual(t, "the edited file", r.readFile(".git/hooks/old"), "I\n")
}

func TestAnApprovalOfATypeOfCommandDoesNotCoverProtectedFiles(t *testing.T) {
	r := newProtectFixture(t, createBlock("a")+createBlock("b")+createBlock(".envrc")+createBlock(".envrc")+
		"[DELETE_FILE path=\"a\"]\n[DELETE_FILE path=\"b\"]\n[DELETE_FILE path=\".git/hooks/old\"]\n[DELETE_FILE path=\"hooks/../config\"]\n[DELETE_FILE path=\"cfg\"]", doneBlock)
	r.settings.Approve = "all"
	r.answerWith("Always in this session", "Yes", "Always in this session", "Always in this session", "No", "No", "No")
	r.runToDone("go")
	var asked []string
	for _, q := range r.asked {
		asked = append(asked, strings.SplitN(q, "\n", 2)[0])
	}
	checkEqual(t, "questions", strings.Join(asked, "\n"), "🔐 Create `a`?\n🔐 Create `.envrc`?\n🔐 Overwrite `.envrc`?\n🔐 Delete `a`?\n"+
		"🔐 Delete `.git/hooks/old`?\n🔐 Delete `.git/config`?\n🔐 Delete `cfg`, which is a link to `.git/config`?")
	for path, want := range map[string]string{"a": "(none)", "b": "(none)", ".envrc": "evil", ".git/hooks/old": "1\n", ".git/config": "1\n", "cfg": "1\n"} {
		checkEqual(t, path, r.readFile(path), want)
	}
	// "Always" is no option of a question about a protected file, so it approves nothing.
	checkContains(t, resultsIn(r.outboxes()[1]), "[OK] CREATE_FILE: Created '.envrc'\n[FAILED] CREATE_FILE: REJECTED: not approved: .envrc\n")
}

func TestWithoutApprovalAProtectedFileIsRefusedAndThePersonIsTold(t *testing.T) {
	r := newProtectFixture(t, createBlock(".git/config")+"[DELETE_FILE path=\".git/hooks/old\"]\n"+createBlock("ok"), doneBlock)
	r.settings.Approve = "never"
	r.words = words.New(words.Settings{}).For("de")
	r.runToDone("go")
	checkEqual(t, ".git/config", r.readFile(".git/config"), "1\n")
	checkEqual(t, ".git/hooks/old", r.readFile(".git/hooks/old"), "1\n")
	checkEqual(t, "ok", r.readFile("ok"), "evil")
	checkContains(t, resultsIn(r.outboxes()[1]), "[FAILED] DELETE_FILE: REJECTED: not approved: .git/hooks/old"+protectedReason)
	const told = "🔐 `.git/config` wurde nicht geändert: Deine Programme könnten die Datei ausführen, und blocks.approve ist never."
	if !slices.Contains(r.sentTexts(), told) {
		t.Errorf("the person was told %q", r.sentTexts())
	}
	if want := `approval: CREATE_FILE ".git/config": No by rule (the file is protected)`; !slices.Contains(r.audited, want) {
		t.Errorf("recorded %q", r.audited)
	}
}

func TestOtherFilesAreWrittenWithoutAQuestion(t *testing.T) {
	var blocks string
	paths := []string{".github/workflows/ci.yml", ".gitignore", "plain/git/config", "Makefile", "up.git/config", "hard"}
	for _, path := range paths {
		blocks += createBlock(path)
	}
	r := newProtectFixture(t, blocks, doneBlock)
	musttest.Do(t, os.Link(filepath.Join(r.workspace, ".git/config"), filepath.Join(r.workspace, "hard")))
	r.answerWith()
	r.runToDone("go")
	checkEqual(t, "questions", len(r.asked), 0)
	for _, path := range paths {
		checkEqual(t, path, r.readFile(path), "evil")
	}
	checkEqual(t, "the other name of a file that was replaced", r.readFile(".git/config"), "1\n")
}

func TestTheConfigurationProtectsMoreFiles(t *testing.T) {
	r := newProtectFixture(t, createBlock("sub/Makefile")+createBlock("ci/run.sh")+createBlock("ci/run.py"), doneBlock)
	r.config.Protect = []string{"makefile", "ci/*.sh"}
	r.answerWith("Yes", "No")
	r.runToDone("go")
	checkEqual(t, "questions", len(r.asked), 2)
	for path, want := range map[string]string{"sub/Makefile": "evil", "ci/run.sh": "(none)", "ci/run.py": "evil"} {
		checkEqual(t, path, r.readFile(path), want)
	}
}

func TestUndoRestoresProtectedFilesWithoutAQuestion(t *testing.T) {
	r := newProtectFixture(t, createBlock(".git/config")+createBlock(".husky/pre-commit")+"[DELETE_FILE path=\"cfg\"]", doneBlock)
	r.answerWith("Yes", "Yes", "Yes")
	r.runToDone("go")
	checkEqual(t, ".husky/pre-commit", r.readFile(".husky/pre-commit"), "evil")
	r.runNextMessage("/undo")
	checkEqual(t, "questions", len(r.asked), 3)
	for path, want := range map[string]string{".git/config": "1\n", ".husky/pre-commit": "(none)", "cfg": "1\n"} {
		checkEqual(t, path, r.readFile(path), want)
	}
	if _, err := os.Lstat(filepath.Join(r.workspace, ".husky")); err == nil {
		t.Error("the folder is left")
	}
}

func TestALinkThatIsTurnedToAProtectedFileWhileThePersonIsAskedIsNotWritten(t *testing.T) {
	r := newProtectFixture(t, createBlock("link"), doneBlock)
	r.settings.Approve = "all"
	link := filepath.Join(r.workspace, "link")
	musttest.Do(t, os.Symlink("plain/a", link))
	r.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
		if err := os.Remove(link); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(".git/config", link); err != nil {
			t.Error(err)
		}
		return terminal.Answer{Text: "Yes"}, nil
	}
	r.runToDone("go")
	checkEqual(t, ".git/config", r.readFile(".git/config"), "1\n")
	checkContains(t, resultsIn(r.outboxes()[1]), "Failed to create 'link': the file has changed meanwhile")
}

func TestAnInterruptedWriteIsAskedAboutIfItsPathLeadsToAProtectedFileNow(t *testing.T) {
	const id = "0000000a"
	r := newProtectFixture(t, doneBlock)
	r.createUnfinishedSession(id, fields{"response": roundName(id, 1), "begun": true})
	r.putFile(r.folder("inbox", roundName(id, 1)), createBlock("cfg"))
	r.answerWith("No")
	r.runToDone("/resume")
	checkEqual(t, "questions", len(r.asked), 1)
	checkEqual(t, ".git/config", r.readFile(".git/config"), "1\n")
}

func TestAnAnswerBeforeARestartCountsOnlyForTheSameChange(t *testing.T) {
	const id = "0000000a"
	r := newProtectFixture(t, doneBlock)
	// identity returns what the gateway finds a stored answer by.
	identity := func(response string) (of string) {
		r.script("", doneBlock)
		r.createUnfinishedSession(id, fields{"response": roundName(id, 1)})
		r.putFile(r.folder("inbox", roundName(id, 1)), response)
		r.ask = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
			if of = q.ID; !q.UniqueID {
				of += q.Text
			}
			return terminal.Answer{Text: "No"}, nil
		}
		r.runToDone("/resume")
		return of
	}
	lines := strings.Repeat("line\n", 50)
	contents := []string{"1\n", "2\n", lines, lines + "x\n", lines + "z\n", strings.Repeat("y", 3<<20)}
	seen := map[string]string{}
	for _, content := range contents {
		r.putFile(".git/config", content)
		of := identity(createBlock("cfg"))
		if other, ok := seen[of]; ok {
			t.Errorf("the answer about %.20q counts for %.20q", other, content)
		}
		seen[of] = content
		checkEqual(t, "the same change again", identity(createBlock("cfg")), of)
	}
	command := "[RUN_COMMAND]\ntrue\n[/RUN_COMMAND]"
	of := identity(command)
	r.words = words.New(words.Settings{}).For("de")
	checkEqual(t, "a command in another language", identity(command), of)
}

func TestAChangeThatAQuestionShowsOnlyInPartIsSentAsADocument(t *testing.T) {
	lines := strings.Repeat("line\n", 100)
	big := strings.Repeat("y\n", 2<<20)
	r := newProtectFixture(t, "[CREATE_FILE path=\".git/hooks/x\"]\n"+lines+"evil\n[/CREATE_FILE]", doneBlock)
	asked := func(what, document string) {
		t.Helper()
		before := ""
		r.ask = func(context.Context, terminal.Question) (terminal.Answer, error) {
			before = r.sent["changes.diff"]
			return terminal.Answer{Text: "No"}, nil
		}
		r.runNextMessage("go")
		wanttest.Equal(t, what+": the document is", before, document)
		delete(r.sent, "changes.diff")
	}
	asked("a long file", "--- a/.git/hooks/x\n+++ b/.git/hooks/x\n@@ -0,0 +1,101 @@\n"+strings.ReplaceAll(lines, "line", "+line")+"+evil\n\\ No newline at end of file\n")
	r.script("", "[CREATE_FILE path=\".git/config\"]\nshort\n[/CREATE_FILE]", doneBlock)
	asked("a short file", "")
	r.putFile(".git/config", big)
	r.script("", "[CREATE_FILE path=\".git/config\"]\nshort\n[/CREATE_FILE]", doneBlock)
	asked("a file instead of a large one", "--- a/.git/config\n+++ b/.git/config\nshort\n")
	r.script("", "[EDIT_FILE path=\".git/config\" start_line=\"2\" end_line=\"4\"]\nshort\n[/EDIT_FILE]", doneBlock)
	asked("lines of a large file", "--- a/.git/config\n+++ b/.git/config\n@@ -2,3 @@\nshort\n")
}

func TestAQuestionShowsAChangeOfBytesThatAreNotText(t *testing.T) {
	r := newProtectFixture(t, "[CREATE_FILE path=\".git/config\"]\nx\xfe\n[/CREATE_FILE]", doneBlock)
	r.putFile(".git/config", "x\xff")
	r.answerWith("No")
	r.runToDone("go")
	checkContains(t, strings.Join(r.asked, "\n--\n"), "-x<0xFF>\n", "+x<0xFE>\n")
}
