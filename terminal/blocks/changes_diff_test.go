package blocks_test

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestGitAppliesTheDiffOfASession(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which is to apply the diff, is not here")
	}
	s := newChangesFixture(t)
	s.must(os.MkdirAll(s.path("copy/sub"), 0o700))
	for path, content := range map[string]string{"file": "text", "sub/file": "text in sub", "two words": "one\ntwo\n", `odd"name`: "a\n"} {
		s.putFile("ws/"+path, content)
		s.putFile("copy/"+path, content)
	}
	s.writeFile("file", "text\nmore\n")
	s.removeFile("sub/file")
	s.writeFile("deep/new", "new\n")
	s.writeFile("two words", "one\n2\n")
	s.writeFile(`odd"name`, "b\n")
	s.writeFile("gone", "x")
	s.removeFile("gone")
	text, omitted := s.Diff(1 << 30)
	if omitted != 0 {
		t.Errorf("%d omitted", omitted)
	}
	s.putFile("diff", text)
	apply := exec.Command("git", "apply", s.path("diff"))
	apply.Dir = s.path("copy")
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+s.dir)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
	want := s.workspaceFiles()
	maps.DeleteFunc(want, func(path, _ string) bool { return path == "config.json" || strings.HasPrefix(path, "state/") })
	if got := s.readTree("copy"); !maps.Equal(got, want) {
		t.Errorf("%q, not %q\n%s", got, want, text)
	}
}

func TestADiffIsBoundedAndLeavesBinaryFilesOut(t *testing.T) {
	s := newChangesFixture(t)
	s.putFile("ws/binary", "a\x00b")
	s.putFile("ws/latin", "\xe4\n")
	s.putFile("ws/huge", strings.Repeat("x\n", 2<<20))
	s.writeFile("binary", "text")
	s.writeFile("latin", "ä\n")
	s.writeFile("huge", strings.Repeat("y\n", 2<<20))
	s.writeFile("new.bin", "\x00")
	s.writeFile("a b\nc", "1")
	s.writeFile("with blank", "1\n")
	s.writeFile("file", "other")
	s.writeFile("file", "text")
	s.putFile("ws/file", "somebody's")
	s.writeFile("long", strings.Repeat("long line\n", 100))
	want := "--- /dev/null\n+++ \"b/a b\\nc\"\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n" +
		"Binary files a/binary and b/binary differ\n" +
		"Files a/huge and b/huge differ (too large to be compared by lines)\n" +
		"Binary files a/latin and b/latin differ\n" +
		"Binary files /dev/null and b/new.bin differ\n" +
		"--- /dev/null\n+++ b/with blank\t\n@@ -0,0 +1 @@\n+1\n"
	if text, omitted := s.Diff(1000); text != want || omitted != 1 {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	if text, omitted := s.Diff(1 << 30); omitted != 0 || len(text) < 1000 {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	if text, omitted := s.Diff(0); omitted != 7 || text != "" {
		t.Errorf("%d omitted from\n%s", omitted, text)
	}
	s.putFile("ws/binary", "now\n") // the diff shows the current content, not that after the session
	s.must(os.Remove(s.path("ws/huge")))
	if text, _ := s.Diff(1 << 30); !strings.Contains(text, "Files a/huge and /dev/null differ") {
		t.Errorf("diff %s", text)
	}
}
