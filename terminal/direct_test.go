package terminal

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

// plainRunner returns a Runner for a command in a new folder, without an agent's sandbox.
func plainRunner(t *testing.T, shell, command string) *Runner {
	t.Helper()
	cfg := config.Default().Terminal
	cfg.Shell, cfg.Command = shell, command
	return musttest.Get(NewRunner(Options{Config: cfg, Workspace: t.TempDir(), Environ: os.Environ()}))(t)
}

func TestACommandNeedsAShellOnlyForTheSyntaxOfOne(t *testing.T) {
	plain := map[string][]string{
		"python3 agent.py":               {"python3", "agent.py"},
		"exec python3 agent.py":          {"python3", "agent.py"},
		"  ./agent --a=b,c :d @e %f +g ": {"./agent", "--a=b,c", ":d", "@e", "%f", "+g"},
		`agent 'a b' "c  d"e '*' "~" ''`: {"agent", "a b", "c  de", "*", "~", ""},
		"agent # a comment":              {"agent"},
		`"my agent" x`:                   {"my agent", "x"},
	}
	for command, want := range plain {
		wanttest.EqualSlices(t, command, plainRunner(t, "/bin/sh", command).plain, want)
	}
	for _, command := range []string{
		"a; b", "a && b", "a | b", "a &", "! a", "a > b", "a < b", "a 2>&1", "V=1 a", "V=1", "(a)", "{ a; }", "if a; then b; fi",
		"a $B", `a "$B"`, "a $(b)", "a `b`", `a "x$(b)"`, "a *", "a ?", "a [b]", "a ~", "~/a", "a {b,c}", `a \b`, `a "\$"`, "a $'b'",
		"cd x", "echo x", "exec -a b a", "exec", "exec echo x", ". ./a", "test x", "[ x ]", "''", "a\nb", "a\r", "f() { a; }; f", "",
	} {
		if words := plainRunner(t, "/bin/sh", command).plain; words != nil {
			t.Errorf("%q is executed without a shell, as %q", command, words)
		}
	}
	wanttest.EqualSlices(t, "in zsh, where .zshenv may change what it means", plainRunner(t, "/bin/zsh", "a").plain, nil)
	t.Setenv("BASH_FUNC_a%%", "() { echo replaced; }")
	wanttest.EqualSlices(t, "an exported function", plainRunner(t, "/bin/bash", "a").plain, nil)
}

// TestABuiltinOfAPlainShellIsExecutedByTheShell asks the shells of this machine which commands they
// execute themselves.
func TestABuiltinOfAPlainShellIsExecutedByTheShell(t *testing.T) {
	out, err := exec.Command("bash", "-c", "compgen -b").Output()
	if err != nil {
		t.Skip("no bash")
	}
	for _, name := range strings.Fields(string(out)) {
		if !slices.Contains(builtins, name) {
			t.Errorf("%s is a builtin", name)
		}
	}
}

// TestAProgramRunsWithoutAShellAsItWouldWithOne compares the exit, the output and the environment
// of a program that is executed directly with those of the shell.
func TestAProgramRunsWithoutAShellAsItWouldWithOne(t *testing.T) {
	write := func(r *Runner, name, content string, mode os.FileMode) {
		musttest.Do(t, os.WriteFile(filepath.Join(r.ownDir(), name), []byte(content), mode))
	}
	for _, test := range []struct {
		command string
		direct  bool
		code    int
	}{
		{"./script a 'b c'", true, 3},
		{"./without-shebang", true, 4}, // the kernel refuses it, the shell does not
		{"./missing", false, 127},
		{"missing", false, 127},
		{"./folder", false, 126},
		{"./not-executable", false, 126},
		{"./without-interpreter", true, 127},
		{"env", true, 0},
		{"pwd", false, 0},
	} {
		r := plainRunner(t, "/bin/sh", test.command)
		write(r, "script", "#!/bin/sh\necho \"$0|$1|$2|$#\"; pwd; exit 3\n", 0o755)
		write(r, "without-shebang", "echo \"$0\"; exit 4\n", 0o755)
		write(r, "not-executable", "#!/bin/sh\n", 0o644)
		write(r, "without-interpreter", "#!/no/such/interpreter\n", 0o755)
		musttest.Do(t, os.Mkdir(filepath.Join(r.ownDir(), "folder"), 0o700))
		o := r.commandOptions(test.command, r.ownDir(), r.env)
		wanttest.Equal(t, test.command+" without a shell", o.Fallback != nil, test.direct)
		code, output := runWhole(t, o)
		wantCode, wantOutput := runWhole(t, process.Options{Args: []string{"/bin/sh", "-c", test.command}, Dir: o.Dir, Env: o.Env})
		wanttest.Equal(t, "exit status of "+test.command, code, test.code)
		wanttest.Equal(t, "exit status of the shell", wantCode, test.code)
		wanttest.EqualSlices(t, "output of "+test.command, output, wantOutput)
	}
}

// runWhole returns the exit status and the sorted lines of the output of a process.
func runWhole(t *testing.T, o process.Options) (int, []string) {
	t.Helper()
	o.NoInput, o.MergeStderr = true, true
	child := musttest.Get(process.Start(o))(t)
	lines := strings.Split(string(musttest.Get(io.ReadAll(child.Stdout))(t)), "\n")
	slices.Sort(lines)
	return child.Wait().Code, lines
}
