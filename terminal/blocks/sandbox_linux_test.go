package blocks_test

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/terminal/sandbox"
	"nanobot/terminal/sandbox/sandboxtest"
)

func TestACommandRunsInTheSandboxAndTheLimitsOfTheAgent(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{Sandbox: sandbox.Landlock, Required: true}); err != nil {
		t.Skip(err)
	}
	const look = "[RUN_COMMAND]\ncat ../secret 2>/dev/null || echo denied\n[/RUN_COMMAND]\n[RUN_COMMAND]\necho new > ../made 2>/dev/null; echo mine > f; cat f\n[/RUN_COMMAND]\n[RUN_COMMAND]\nulimit -n\n[/RUN_COMMAND]"
	for kind, want := range map[string][]string{sandbox.Landlock: {"denied", "(none)", "99"}, "none": {"secret", "new\n", "98"}} {
		dir := sandboxtest.Outside(t)
		r := newFixture(t, look, doneBlock)
		r.workspace = filepath.Join(dir, "work")
		r.putFile("../secret", "secret")
		r.putFile("old", "")
		r.config.Sandbox = kind
		r.config.SandboxPaths = []string{filepath.Dir(os.Args[0]) + ":ro", r.model}
		r.config.Limits.Files = map[string]int{sandbox.Landlock: 99, "none": 98}[kind]
		r.runToDone("go")
		got := resultsIn(r.outboxes()[1])
		checkEqual(t, kind+": a file outside that was made", r.readFile("../made"), want[1])
		checkEqual(t, kind+": a file of the workspace", r.readFile("f"), "mine\n")
		checkContains(t, got, "denied' (exit code 0)\n  Output: "+want[0]+"\n", "cat f' (exit code 0)\n  Output: mine\n", "Ran 'ulimit -n' (exit code 0)\n  Output: "+want[2])
	}
}
