package process_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

func TestATreeOfProcessesIsKilledWithoutTheRestOfTheChild(t *testing.T) {
	dir := t.TempDir()
	// The shell of the tree would start another command after each one that ends. What it has left
	// to the child's session belongs to the child, and not to the tree.
	script := `setsid sh -c "sleep 611; sleep 612; echo x > late" & (sleep 613 &); echo up; cat`
	child := musttest.Get(process.Start(process.Options{Args: []string{"sh", "-c", script}, Dir: dir, KeepInput: true}))(t)
	defer func() {
		child.Kill()
		child.Wait()
	}()
	find := func() (args []string, tree []procfs.Stat) {
		for _, p := range child.Descendants() {
			line := strings.Join(procfs.Args(p.Pid), " ")
			if args = append(args, line); strings.HasPrefix(line, "sh -c sleep 611") {
				tree = append(tree, p)
			}
		}
		slices.Sort(args)
		return args, tree
	}
	const all = "cat|sh -c sleep 611; sleep 612; echo x > late|sleep 611|sleep 613"
	var tree []procfs.Stat
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		args, found := find()
		if tree = found; strings.Join(args, "|") == all {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the descendants are %q", args)
		}
	}
	process.KillTrees(tree)
	args, _ := find()
	wanttest.Equal(t, "the descendants that are left:", strings.Join(args, "|"), "cat|sleep 613")
	if _, err := os.Stat(filepath.Join(dir, "late")); err == nil {
		t.Error("the shell continued after its first command")
	}
	process.KillTrees(tree) // of processes that have ended
}
