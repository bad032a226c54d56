package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var bin string // folder of the binary under test

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nanobot-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make folder for the binary:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	return m.Run()
}

// build compiles the real program once.
var build = sync.OnceValues(func() (string, error) {
	// The go command caches test results by the files that the test itself has opened, and does not
	// know those of the build below. Reading the folders here invalidates the cached result when
	// the program changes.
	err := filepath.WalkDir("../..", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != ".." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("walk the source: %w", err)
	}
	program := filepath.Join(bin, "nanobot")
	// With the same flags as in the other tests that build the program, the compiled packages are
	// shared.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "nanobot/cmd/nanobot")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build nanobot: %w\n%s", err, out)
	}
	return program, nil
})

func skipWithout(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is missing on this machine", p)
		}
	}
}

// exampleFolders returns the names of the example folders.
func exampleFolders(t *testing.T) []string {
	t.Helper()
	entries := musttest.Get(os.ReadDir("."))(t)
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "hooks" { // which has templates and no agent
			names = append(names, e.Name())
		}
	}
	return names
}

// copyFolder copies an example without the files that earlier runs have left there.
func copyFolder(t *testing.T, name string) string {
	t.Helper()
	to := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	musttest.Do(t, filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"users", "charts", ".nanobot"}, d.Name()):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, strings.TrimPrefix(path, name)), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, strings.TrimPrefix(path, name)), content, 0o755)
	}))
	return to
}

// line is an expected line of the output of nanobot run.
type line struct {
	kind, code string
	texts      []string // one of these
	media      []string // patterns of the names of the files
}

func message(text string, media ...string) line {
	return line{kind: "message", texts: []string{text}, media: media}
}

func either(texts ...string) line { return line{kind: "message", texts: texts} }

func progress(text string) line { return line{kind: "progress", texts: []string{"⏳ " + text}} }

func failure(code, text string) line {
	return line{kind: "error", code: code, texts: []string{"Error (" + code + "): " + text}}
}

// result is the result of a run of nanobot.
type result struct {
	workspace      string
	stdout, stderr string
	status         int
	files          []string // all that were sent, in order
}

// goCache returns the folder of compiled packages. In another HOME the agent in Go would compile
// the standard library again.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// builtProgram returns the path of the real program.
func builtProgram(t *testing.T) string {
	t.Helper()
	killtest.SkipIfShort(t)
	skipWithout(t, "go")
	path := musttest.Get(build())(t)
	return path
}

func nanobot(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), builtProgram(t), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "NANOBOT_") || strings.HasPrefix(v, "STATE_DIRECTORY=")
	})
	if home, err := os.UserHomeDir(); err == nil && os.Getenv("RUSTUP_HOME") == "" { // where rustup finds the compiler
		cmd.Env = append(cmd.Env, "RUSTUP_HOME="+filepath.Join(home, ".rustup"))
	}
	cmd.Env = append(cmd.Env, "HOME="+t.TempDir(), "GOCACHE="+goCache()) // an interactive shell reads startup files in HOME, which may take any time
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("run nanobot: %v", err)
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), status: cmd.ProcessState.ExitCode()}
}

// runStep sends one message and compares the output.
func runStep(t *testing.T, workspace string, s step) {
	t.Helper()
	if s.before != nil {
		s.before(t, workspace)
	}
	args := []string{"run", "--json", "--config", filepath.Join(workspace, "config.json")}
	if s.chat != "" {
		args = append(args, "--chat", s.chat)
	}
	for _, name := range s.media {
		args = append(args, "--media", filepath.Join(workspace, name))
	}
	r := nanobot(t, append(args, "--", s.text)...)
	r.workspace = workspace
	wanttest.Equal(t, "exit status", r.status, s.status)
	got := decode(t, r.stdout)
	same := len(got) == len(s.want)
	for i := range min(len(got), len(s.want)) {
		same = same && matches(got[i], s.want[i], workspace)
		r.files = append(r.files, got[i].Media...)
	}
	if !same {
		t.Fatalf("got:\n%swant:\n%sstderr:\n%s", r.stdout, formatLines(s.want), r.stderr)
	}
	if s.after != nil {
		s.after(t, r)
	}
}

type printed struct {
	Kind, Text, Code string
	Media            []string
}

// slowCommand matches the progress of a command of hear or speak, which only a slow one has.
var slowCommand = regexp.MustCompile(`^⏳ (Turning .* into text|Recording the answer)…$`)

func decode(t *testing.T, stdout string) []printed {
	t.Helper()
	var all []printed
	for l := range strings.Lines(stdout) {
		var p printed
		if err := json.Unmarshal([]byte(l), &p); err != nil {
			t.Fatalf("not a line of JSON: %q: %v", l, err)
		}
		if p.Kind == "progress" && slowCommand.MatchString(p.Text) {
			continue
		}
		all = append(all, p)
	}
	return all
}

func matches(got printed, want line, workspace string) bool {
	var names []string
	for _, path := range got.Media {
		names = append(names, filepath.Base(path))
	}
	text := strings.ReplaceAll(got.Text, workspace, "{workspace}")
	return got.Kind == want.kind && got.Code == want.code && slices.Contains(want.texts, text) && slices.EqualFunc(want.media, names, func(pattern, name string) bool {
		ok, err := filepath.Match(pattern, name)
		return ok && err == nil
	})
}

func formatLines(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s %q %q\n", l.kind, l.code, l.texts, l.media)
	}
	return b.String()
}
