package blocks_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// runCommands executes RUN_COMMANDs in one response and returns their results in the next outbox.
func runCommands(r *fixture, commands ...string) string {
	r.t.Helper()
	r.script("", "[RUN_COMMAND]\n"+strings.Join(commands, "\n[/RUN_COMMAND]\n[RUN_COMMAND]\n")+"\n[/RUN_COMMAND]", doneBlock)
	r.runNextMessage("run it")
	return resultsIn(r.outboxes()[1])
}

func TestTheModelGetsTheOutputOfACommandUnchanged(t *testing.T) {
	r := newFixture(t)
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
	} {
		checkEqual(t, command, runCommands(r, command), want)
	}
}

func TestACommandIsPassedToTheShellUnchanged(t *testing.T) {
	r := newFixture(t)
	// The meaning of the first command depends on the shell.
	for _, command := range []string{"-x", "echo  'a  b' \"$0\" $#\n# comment\n\techo \\\\ '*'", "exit 300"} {
		shell := exec.Command("/bin/sh", "-c", command)
		shell.Dir = t.TempDir()
		var stderr strings.Builder
		shell.Stderr = &stderr
		stdout, err := shell.Output()
		if shell.ProcessState == nil {
			t.Fatal(err)
		}
		status, output := "OK", strings.TrimRight(string(stdout)+stderr.String(), "\n")
		if err != nil {
			status = "FAILED"
		}
		if output != "" {
			output = "\n  Output: " + output
		}
		checkEqual(t, command, runCommands(r, command), fmt.Sprintf("[%s] RUN_COMMAND: Ran '%s' (exit code %d)%s", status, command, shell.ProcessState.ExitCode(), output))
	}
}

func TestACommandRunsInTheWorkspaceWithTheAgentsEnvironment(t *testing.T) {
	r := newFixture(t)
	r.config.Env = map[string]string{"OF_THE_AGENT": "yes"}
	workspace := musttest.Get(filepath.EvalSymlinks(r.workspace))(t)
	checkContains(t, runCommands(r, "pwd -P; echo $OF_THE_AGENT $NANOBOT_CHAT_ID"), "  Output: "+workspace+"\nyes 1")
}

// survivors is a command that prints the states of the running processes whose PIDs are in the
// files pid and child, without zombies. It must be in the same response, because the end of a turn
// kills all processes.
const survivors = `for p in $(cat pid child 2>/dev/null); do grep -s "^State:.[^ZX]" /proc/$p/status; done; cat pid child 2>/dev/null | wc -w`

// checkEnded checks the output of survivors: none of this number of processes runs.
func checkEnded(r *fixture, results string, processes int) {
	r.t.Helper()
	_, printed, _ := strings.Cut(results, "| wc -w' (exit code 0)\n  Output: ")
	checkEqual(r.t, "processes that run, and how many there were", strings.TrimSpace(printed), strconv.Itoa(processes))
}

// runUntilTimeout runs a command until its timeout, which must not expire before its processes have
// started. On a busy machine that takes some seconds.
func runUntilTimeout(t *testing.T, command string) (r *fixture, got string) {
	t.Helper()
	for seconds := 1; seconds <= 64; seconds *= 2 {
		r = newFixture(t)
		r.settings.Timeout = seconds
		got = runCommands(r, command, survivors)
		started := true
		for _, name := range []string{"pid", "child", "said"} {
			content, _ := os.ReadFile(filepath.Join(r.workspace, name))
			started = started && (len(content) > 0 || !strings.Contains(command, "> "+name))
		}
		if started {
			break
		}
	}
	return r, got
}

func TestATimeoutKillsTheWholeTreeAndKeepsTheOutput(t *testing.T) {
	for name, command := range map[string]string{
		"silent":           "sleep 1000",
		"output closed":    "echo early; echo > said; exec >&- 2>&-; sleep 1000",
		"flood":            "echo early; echo > said; exec yes",
		"grandchild":       "echo early; echo > said; (sleep 1000; echo late) & echo $! > child; wait",
		"another session":  "echo early; echo > said; setsid sh -c 'echo $$ > child; exec sleep 1000'; echo late",
		"ignores signals":  "echo early; echo > said; trap '' TERM INT HUP; sleep 1000 & echo $! > child; while :; do wait; done",
		"background holds": "echo early; echo > said; setsid sh -c 'echo $$ > child; trap \"\" TERM INT HUP; sleep 1000; sleep 1000' & sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := "echo $$ > pid\n" + command
			r, got := runUntilTimeout(t, command)
			checkContains(t, got, fmt.Sprintf("[FAILED] RUN_COMMAND: Command timed out (%ds): %s", r.settings.Timeout, command))
			if strings.Contains(command, "early") {
				checkContains(t, got, "  Output: early")
			}
			checkEnded(r, got, strings.Count(command, "> pid")+strings.Count(command, "> child"))
		})
	}
}

func TestABackgroundProcessNeitherOutlivesNorDelaysItsCommand(t *testing.T) {
	r := newFixture(t)
	r.settings.Timeout = 3600
	got := runCommands(r, "sleep 1000 & echo $! > pid; setsid sleep 1000 & echo $! > child; echo here", survivors)
	checkContains(t, got, "(exit code 0)\n  Output: here")
	checkEnded(r, got, 2)
}

func TestAFloodCostsBoundedMemory(t *testing.T) {
	r := newFixture(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := runCommands(r, "head -c 300000000 /dev/zero | tr '\\0' x; head -c 30000000 /dev/zero | tr '\\0' y >&2")
	runtime.ReadMemStats(&after)
	// The total of all allocations is an upper bound of the memory in use at any time.
	if used := after.TotalAlloc - before.TotalAlloc; used > 50<<20 {
		t.Errorf("an output of 330 MB took %d MiB of memory", used>>20)
	}
	checkContains(t, got, "(exit code 0)\n  Output: "+strings.Repeat("x", 4000)+"\n... (output truncated)")
}

func TestACommandThatIsTooLongIsNotRun(t *testing.T) {
	r := newFixture(t)
	got := runCommands(r, "echo "+strings.Repeat("x", 200_000))
	checkContains(t, got, "[FAILED] RUN_COMMAND: Failed to run 'echo xxx", fmt.Sprintf("': the command is longer than %d bytes", 128<<10-1))
}
