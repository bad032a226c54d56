package page_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// acpAgent is the variable that makes an agent of protocol acp of the test binary.
const acpAgent = "NANOBOT_PAGE_ACP_AGENT"

// root is the folder of the repository.
var root = filepath.Join("..", "..", "..")

// readmeCommands returns the lines of the first sh blocks of a section of the README, without
// comments.
func readmeCommands(t *testing.T, section string, n int) []string {
	t.Helper()
	text := string(musttest.Get(os.ReadFile(filepath.Join(root, "README.md")))(t))
	_, text, _ = strings.Cut(text, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var all []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			command, _, _ := strings.Cut(line, " # ")
			all = append(all, strings.TrimSpace(command))
		}
	}
	if len(all) < n {
		t.Fatalf("the section %q of the README has only the commands %q", section, all)
	}
	return all[:n]
}

// installed is the home folder of somebody who has built the program as the README says. The
// packages come from the build cache: the same settings are used by other tests.
var installed = sync.OnceValues(func() (home string, err error) {
	home, err = os.MkdirTemp("", "nanobot-home-")
	if err != nil {
		return "", err
	}
	removeAtEnd = append(removeAtEnd, home)
	cmd := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH")
	out, err := cmd.Output()
	if err != nil {
		return home, err
	}
	caches := strings.Fields(string(out))
	build := exec.Command("sh", "-c", buildCommand)
	build.Dir = root
	build.Env = append(
		os.Environ(), "HOME="+home, "GOCACHE="+caches[0], "GOMODCACHE="+caches[1], "GOPATH="+caches[2],
		"CGO_ENABLED=0", `GOFLAGS=-trimpath -buildvcs=false "-ldflags=-s -w"`,
	)
	if out, err := build.CombinedOutput(); err != nil {
		return home, fmt.Errorf("%s: %w\n%s", buildCommand, err, out)
	}
	return home, nil
})

// removeAtEnd are folders that all tests share.
var removeAtEnd []string

// buildCommand is what the README says.
const buildCommand = "go build -o ~/.local/bin/nanobot ./cmd/nanobot"

// nanobot is a running "nanobot web".
type nanobot struct {
	t     *testing.T
	child *killtest.Child
	dir   string
}

// startShell runs a line of shell in a folder, as a person who has installed the program, and
// returns what opens in the browser.
func startShell(t *testing.T, dir, line string, env ...string) (b *nanobot, url string) {
	t.Helper()
	if browser.why != "" {
		t.Skip(browser.why)
	}
	home := musttest.Get(installed())(t)
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >"+opened+".new; mv "+opened+".new "+opened+"\n"), 0o755))
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "HOME="+home, "PATH="+bin+":"+home+"/.local/bin:"+os.Getenv("PATH")), env...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the shell and its child
	cmd.WaitDelay = time.Minute
	b = &nanobot{t: t, dir: dir, child: killtest.Start(t, cmd)}
	t.Cleanup(b.end)
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(opened); err == nil {
			return b, strings.TrimSpace(string(text))
		}
		if time.Now().After(end) {
			t.Fatalf("%s: no browser was opened", line)
		}
	}
}

// end presses Ctrl-C and waits for the end.
func (b *nanobot) end() {
	_ = syscall.Kill(-b.child.PID(), syscall.SIGINT)
	_ = b.child.Wait()
}

// signIn opens the page.
func signIn(t *testing.T, url string) *tab {
	t.Helper()
	p := openBlank(t)
	p.enterBy(url)
	return p
}

// enterBy opens the page by a link.
func (p *tab) enterBy(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
	p.until("location.pathname === '/' && document.getElementById('text')")
}

func TestTheREADMEEndsWithAnAnswerOfOnesOwnAgentInTheBrowser(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	wanttest.Equal(t, "the README builds with", readmeCommands(t, "Install", 2)[1], buildCommand)
	two := readmeCommands(t, "Your first agent", 2)
	b, url := startShell(t, t.TempDir(), strings.Join(two, "\n"))
	p := signIn(t, url)
	p.send("hello")
	p.awaitText("#log", "You said: hello")
	agent := filepath.Join(b.dir, "mybot", "work", "agent.py")
	source := string(musttest.Get(os.ReadFile(agent))(t))
	musttest.Do(t, os.WriteFile(agent, []byte(strings.Replace(source, "You said:", "You told me:", 1)), 0o755))
	p.send("and this")
	p.awaitText("#log", "You told me: and this")
}

func TestWebShowsEveryProtocolInTheBrowser(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, name, text string) string {
		t.Helper()
		dir := t.TempDir()
		musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return dir
	}
	p := openBlank(t)
	for name, c := range map[string]struct {
		command, file, want string
	}{
		"lines":  {`'sh agent'`, `echo "a line about $NANOBOT_TEXT"`, "a line about tea"},
		"frames": {`'sh agent'`, `echo '{"type":"message","text":"a **frame**"}'`, "a frame"},
		"hint":   {`'stty -a'`, "", "This program asks for a terminal. The protocol screen gives it one"},
		"words":  {`sh agent 'two words'`, `echo "($1)"`, "(two words)"},
		"plain":  {`--protocol plain 'sh agent'`, `echo '{"type":"message"}'`, `{"type":"message"}`},
		"screen": {`--protocol screen 'sh agent'`, `test -t 0 && echo "a terminal"; cat`, "a terminal"},
		"acp":    {`--protocol acp "` + acpAgent + `=1 exec ` + os.Args[0] + ` -dir $PWD"`, "", "tea"},
		"keys": {
			`--protocol keys 'sh agent'`,
			`read -r line; echo '{"analysis":"the shell","plan":"I type","commands":[{"keystrokes":"echo $((6*7))\n","duration":0.2}],"task_complete":false}'
			while read -r line; do echo '{"analysis":"It printed 42.","plan":"","commands":[],"task_complete":true}'; done`, "It printed 42.",
		},
		"blocks": {`--protocol blocks 'sh agent'`, `cat >/dev/null; printf '[DONE]\nIt is done.\n[/DONE]\n'`, "It is done."},
	} {
		t.Run(name, func(t *testing.T) {
			p.t = t
			_, url := startShell(t, write(t, "agent", c.file), "exec nanobot web "+c.command)
			p.enterBy(url)
			p.send("tea")
			p.awaitText("#log, #live", c.want)
		})
	}
}

func TestWebStartedAgainInAFolderOpensTheRunningPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, url := startShell(t, dir, "exec nanobot web 'echo first'")
	p := signIn(t, url)
	p.send("hello")
	p.awaitText("#log", "first")
	again, url := startShell(t, dir, "exec nanobot web 'echo second'")
	musttest.Do(t, again.child.Wait())
	wanttest.Equal(t, "status", again.child.State().ExitCode(), 0)
	other := signIn(t, url)
	other.send("hello")
	other.awaitText("#log", "first")
}
