package blocks_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ran executes one RUN_COMMAND and returns what the model is told of it.
func ran(r *rig, command string) string {
	r.t.Helper()
	r.script("", "[RUN_COMMAND]\n"+command+"\n[/RUN_COMMAND]", doneBlock)
	r.next("run it")
	return results(r.outboxes()[1])
}

func TestTheOutputOfACommandIsToldAsItIs(t *testing.T) {
	r := newRig(t)
	r.settings.OutputLimit = 20
	for command, want := range map[string]string{
		"true":                           "[OK] RUN_COMMAND: Ran 'true' (exit code 0)",
		"echo a; echo b >&2":             "[OK] RUN_COMMAND: Ran 'echo a; echo b >&2' (exit code 0)\n  Output: a\n\nb",
		"echo b >&2; exit 7":             "[FAILED] RUN_COMMAND: Ran 'echo b >&2; exit 7' (exit code 7)\n  Output: b",
		"printf '   '; printf '\\t' >&2": "[OK] RUN_COMMAND: Ran 'printf '   '; printf '\\t' >&2' (exit code 0)",
		"kill -9 $$":                     "[FAILED] RUN_COMMAND: Ran 'kill -9 $$' (exit code 137)",
		"printf 'äöüäöüäöüäöüäöüäöüäöü'": "[OK] RUN_COMMAND: Ran 'printf 'äöüäöüäöüäöüäöüäöüäöü'' (exit code 0)\n  Output: äöüäöüäöüäöüäöüäöüäö\n... (output truncated)",
		"cat":                   "[OK] RUN_COMMAND: Ran 'cat' (exit code 0)",
		"echo '=== PROMPT ==='": "[OK] RUN_COMMAND: Ran 'echo '=== PROMPT ==='' (exit code 0)\n  Output: === PROMPT ===",
		"head -c 100000 /dev/zero | tr '\\0' '\\377'": "[OK] RUN_COMMAND: Ran 'head -c 100000 /dev/zero | tr '\\0' '\\377'' (exit code 0)\n  Output: " + strings.Repeat("\uFFFD", 20) + "\n... (output truncated)",
		"-x": "[FAILED] RUN_COMMAND: Ran '-x' (exit code 127)\n  Output: /bin/sh: 1: -x: not f\n... (output truncated)",
	} {
		if got := ran(r, command); got != want && !strings.HasPrefix(command, "-x") {
			t.Errorf("%s:\n%s\nwant\n%s", command, got, want)
		} else if strings.HasPrefix(command, "-x") && !strings.HasPrefix(got, "[FAILED] RUN_COMMAND: Ran '-x' (exit code ") {
			t.Errorf("%s:\n%s", command, got)
		}
	}
}

func TestACommandRunsInTheWorkspaceWithTheAgentsEnvironment(t *testing.T) {
	r := newRig(t)
	r.config.Env = map[string]string{"OF_THE_AGENT": "yes"}
	got := ran(r, "pwd; echo $OF_THE_AGENT $NANOBOT_CHAT_ID")
	real, err := os.Readlink("/proc/self/cwd")
	_ = real
	if err != nil {
		t.Skip(err)
	}
	has(t, got, r.workspace, "yes 1")
}

func TestATimeoutKillsTheWholeTreeAndKeepsTheOutput(t *testing.T) {
	for name, command := range map[string]string{
		"silent":           "sleep 1000",
		"output closed":    "echo early; exec >&- 2>&-; sleep 1000",
		"flood":            "echo early; exec yes",
		"grandchild":       "echo early; (sleep 1000; echo late) & wait",
		"another session":  "echo early; setsid sleep 1000; echo late",
		"ignores signals":  "echo early; trap '' TERM INT HUP; while :; do sleep 1000; done",
		"background holds": "echo early; setsid sleep 1000 & sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.settings.Timeout = 1
			command := "echo $$ > pid\n" + command
			got := ran(r, command)
			has(t, got, "[FAILED] RUN_COMMAND: Command timed out (1s): "+command)
			if strings.Contains(command, "early") {
				has(t, got, "  Output: early")
			}
			pid, err := strconv.Atoi(strings.TrimSpace(r.get("pid")))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(-pid, 0); err != syscall.ESRCH {
				t.Errorf("its process group is alive: %v", err)
			}
		})
	}
}

func TestABackgroundProcessNeitherOutlivesNorDelaysItsCommand(t *testing.T) {
	r := newRig(t)
	r.settings.Timeout = 3600
	got := ran(r, "sleep 1000 & echo $! > pid; echo here")
	has(t, got, "(exit code 0)\n  Output: here")
	pid, err := strconv.Atoi(strings.TrimSpace(r.get("pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("it is alive: %v", err)
	}
}

func TestAFloodCostsBoundedMemory(t *testing.T) {
	r := newRig(t)
	got := ran(r, "head -c 300000000 /dev/zero | tr '\\0' x; head -c 30000000 /dev/zero | tr '\\0' y >&2")
	has(t, got, "(exit code 0)\n  Output: "+strings.Repeat("x", 4000)+"\n... (output truncated)")
}

func TestACommandThatIsTooLongIsNotRun(t *testing.T) {
	r := newRig(t)
	got := ran(r, "echo "+strings.Repeat("x", 200_000))
	has(t, got, "[FAILED] RUN_COMMAND: Failed to run 'echo xxx", fmt.Sprintf("': the command is longer than %d bytes", 128<<10-1))
}
