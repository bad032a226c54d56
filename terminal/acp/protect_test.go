package acp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// newProtectPerson returns a person whose workspace is a repository with links into and out of
// protected folders.
func newProtectPerson(t *testing.T, permissions string, answer func(terminal.Question) (string, error)) (*person, *asker) {
	t.Helper()
	p := newFixture(t, "", func(c *config.Terminal) {
		settings(c).Permissions, c.Protect = permissions, []string{"ci/*.sh"}
	}).person("a")
	a := &asker{answer: answer}
	p.ask = a.ask
	for _, name := range []string{".git/config", ".git/hooks/old", "conf/tasks.json", "store/HEAD", "ci/run.sh"} {
		musttest.Do(t, os.MkdirAll(filepath.Dir(p.path(name)), 0o700))
		musttest.Do(t, os.WriteFile(p.path(name), []byte("old"), 0o600))
	}
	for link, target := range map[string]string{"hooks": ".git/hooks", "chain": ".vscode/tasks.json", ".vscode": "conf"} {
		musttest.Do(t, os.Symlink(target, p.path(link)))
	}
	return p, a
}

func TestNoPermissionInForceCoversAProtectedFile(t *testing.T) {
	t.Parallel()
	answer := "Allow writing for this session"
	p, a := newProtectPerson(t, "ask", func(q terminal.Question) (string, error) {
		if strings.HasPrefix(q.Options[0], "Allow") {
			return answer, nil
		}
		return "For ever", nil
	})
	p.send("write " + p.path("x") + " new\nwrite " + p.path("y") + " new")
	if n := len(a.takeQuestions()); n != 1 {
		t.Fatalf("asked %d times about two files", n)
	}
	for _, path := range []string{
		".git/config", ".GIT/config", "sub/.git/hooks/x", "hooks/pre-commit", ".vscode/tasks.json", "chain", "sub/../.git/config", ".envrc", "store/config", "ci/run.sh",
	} {
		before, _ := os.ReadFile(p.path(path))
		at := p.workspace + "/" + path
		for _, step := range []string{"", permissionStep("t", "edit", at)} { // also with a permission for a tool call that names the file
			answer = "Reject"
			said := p.send(step + "write " + at + " new").said()
			asked := a.takeQuestions()
			if len(asked) == 0 {
				t.Fatalf("nothing was asked about %s", path)
			}
			last := asked[len(asked)-1]
			if fmt.Sprint(last.Options) != "[Allow once Reject]" || !strings.Contains(last.Text, "⚠ This file is protected: your tools may execute it later.") {
				t.Errorf("%s: asked %q with the options %q", path, last.Text, last.Options)
			}
			if now, _ := os.ReadFile(p.path(path)); string(now) != string(before) || !strings.Contains(said, refusedCode) {
				t.Errorf("%s has %q: %s", path, now, said)
			}
		}
	}
	answer = "Allow once"
	p.send("write " + p.path("hooks/old") + " new\nwrite " + p.path("hooks/old") + " newer")
	if now, _ := os.ReadFile(p.path(".git/hooks/old")); string(now) != "newer" || len(a.takeQuestions()) != 2 {
		t.Errorf("the file has %q", now)
	}
}

func TestARuleThatAllowsWritingAlsoAllowsProtectedFiles(t *testing.T) {
	t.Parallel()
	p, a := newProtectPerson(t, "allow", answerAlways("Reject"))
	p.send("write " + p.path(".git/config") + " new")
	if now, _ := os.ReadFile(p.path(".git/config")); string(now) != "new" || len(a.takeQuestions()) != 0 {
		t.Errorf("the file has %q", now)
	}
}

func TestALongChangeLeavesTheWarningAboutAProtectedFileWhole(t *testing.T) {
	t.Parallel()
	p, a := newProtectPerson(t, "ask", answerAlways("Reject"))
	p.send(`call fs/write_text_file {"sessionId":"SESSION","path":"` + p.path("hooks/x") + `","content":"` + strings.Repeat(strings.Repeat("x", 150)+`\n`, 30) + `"}`)
	asked := a.takeQuestions()
	if len(asked) != 1 {
		t.Fatalf("asked %d times", len(asked))
	}
	warning, target, diff := strings.Index(asked[0].Text, "⚠ This file is protected: your tools may execute it later."), strings.Index(asked[0].Text, ".git/hooks/x`"), strings.Index(asked[0].Text, "```diff")
	if target < 0 || warning < target || diff < warning {
		t.Errorf("asked %q", asked[0].Text)
	}
}
