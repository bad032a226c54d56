package blocks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/terminal/confine"
)

// outsideTemp returns a folder that is not in the temp folders, which every sandbox lets an agent
// use.
func outsideTemp(t *testing.T) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, place := range []string{".", home, "/srv", "/var/lib"} {
		abs, err := filepath.Abs(place)
		if err != nil || strings.HasPrefix(abs, "/tmp") || strings.HasPrefix(abs, "/var/tmp") || strings.HasPrefix(abs, os.TempDir()) {
			continue
		}
		if dir, err := os.MkdirTemp(abs, "outside-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("there is no folder to write to but the temp folders")
	return ""
}

func TestACommandRunsInTheSandboxAndTheLimitsOfTheAgent(t *testing.T) {
	if _, err := confine.New(confine.Options{Sandbox: confine.Landlock, Required: true}); err != nil {
		t.Skip(err)
	}
	const look = "[RUN_COMMAND]\ncat ../secret 2>/dev/null || echo denied\n[/RUN_COMMAND]\n[RUN_COMMAND]\necho new > ../made 2>/dev/null; echo mine > f; cat f\n[/RUN_COMMAND]\n[RUN_COMMAND]\nulimit -n\n[/RUN_COMMAND]"
	for sandbox, want := range map[string][]string{confine.Landlock: {"denied", "(none)", "99"}, "none": {"secret", "new\n", "98"}} {
		dir := outsideTemp(t)
		r := newRig(t, look, doneBlock)
		r.workspace = filepath.Join(dir, "work")
		r.put("../secret", "secret")
		r.put("old", "")
		r.config.Sandbox = sandbox
		r.config.SandboxPaths = []string{filepath.Dir(os.Args[0]) + ":ro", r.model}
		r.config.Limits.Files = map[string]int{confine.Landlock: 99, "none": 98}[sandbox]
		r.done("go")
		got := results(r.outboxes()[1])
		same(t, sandbox+": a file outside that was made", r.get("../made"), want[1])
		same(t, sandbox+": a file of the workspace", r.get("f"), "mine\n")
		has(t, got, "denied' (exit code 0)\n  Output: "+want[0]+"\n", "cat f' (exit code 0)\n  Output: mine\n", "Ran 'ulimit -n' (exit code 0)\n  Output: "+want[2])
	}
}
