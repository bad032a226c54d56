package main

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// newcomer is a copy of the program with one more channel and one more protocol.
type newcomer struct {
	t      *testing.T
	binary string
	dir    string // with the config
}

// newcomerLines are what is added to wire.go: a line in each of the two lists, and the imports.
var newcomerLines = map[string]string{
	"\tweb.Describe(),\n":              "\texamplechannel.Describe(),\n",
	"\tblocks.Describe(),\n":           "\texampleprotocol.Describe(),\n",
	"\t\"nanobot/channels/discord\"\n": "\texamplechannel \"nanobot/channels/example\"\n",
	"\t\"nanobot/terminal/acp\"\n":     "\texampleprotocol \"nanobot/terminal/example\"\n",
}

// newNewcomer copies the tree, adds the folders of testdata/newcomer and the lines, builds it, and
// runs the suite of the protocol.
func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	killtest.SkipIfShort(t)
	tree := t.TempDir()
	copyTree(t, filepath.Join("..", ".."), tree, func(rel string, e fs.DirEntry) bool {
		return isNoSourceFolder(e.Name()) || e.Name() == "testdata" || strings.HasSuffix(rel, "_test.go")
	})
	copyTree(t, filepath.Join("testdata", "newcomer"), tree, func(string, fs.DirEntry) bool { return false })
	wire := filepath.Join(tree, "cmd", "nanobot", "wire.go")
	source := musttest.Get(os.ReadFile(wire))(t)
	for after, line := range newcomerLines {
		if strings.Count(string(source), after) != 1 {
			t.Fatalf("wire.go has not one line %q", after)
		}
		source = []byte(strings.Replace(string(source), after, after+line, 1))
	}
	musttest.Do(t, os.WriteFile(wire, source, 0o600))
	n := &newcomer{t: t, binary: filepath.Join(t.TempDir(), "nanobot"), dir: t.TempDir()}
	// With -trimpath the packages that are as they were come from the build cache: the test command
	// has built the program with the same settings.
	for _, args := range [][]string{{"build", "-o", n.binary, "./cmd/nanobot"}, {"test", "./terminal/example"}} {
		command := exec.Command("go", append([]string{args[0], "-trimpath", "-buildvcs=false", "-ldflags=-s -w"}, args[1:]...)...)
		command.Dir, command.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return n
}

// copyTree copies a folder without what skip returns true for.
func copyTree(t *testing.T, from, to string, skip func(rel string, e fs.DirEntry) bool) {
	t.Helper()
	musttest.Do(t, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case rel != "." && skip(rel, e) && e.IsDir():
			return filepath.SkipDir
		case rel != "." && skip(rel, e), !e.IsDir() && !e.Type().IsRegular():
			return nil
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	}))
}

// configure writes the config.
func (n *newcomer) configure(text string) {
	n.t.Helper()
	musttest.Do(n.t, os.WriteFile(filepath.Join(n.dir, "config.json"), []byte(text), 0o600))
}

func (n *newcomer) command(args ...string) *exec.Cmd {
	cmd := exec.Command(n.binary, args...)
	cmd.Dir, cmd.Env = n.dir, append(environWithoutTestSettings(), "HOME="+n.dir)
	return cmd
}

// run runs a command of the program in the config's folder and returns what it says and its status.
func (n *newcomer) run(args ...string) (out string, status int) {
	n.t.Helper()
	cmd := n.command(args...)
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		n.t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// expectOutput fails unless a command has this exit status and prints all of these texts.
func (n *newcomer) expectOutput(status int, words []string, args ...string) {
	n.t.Helper()
	out, got := n.run(args...)
	if got != status {
		n.t.Errorf("%s: status %d, want %d", args, got, status)
	}
	for _, w := range words {
		if !strings.Contains(out, w) {
			n.t.Errorf("%s: no %q in\n%s", args, w, out)
		}
	}
}

// exampleLine is what the server of the example channel and the bot say to each other.
type exampleLine struct{ Token, ID, Chat, User, Text, Ack string }

// exampleServer is the network of the example channel.
type exampleServer struct {
	t        *testing.T
	listener net.Listener
	mu       sync.Mutex
	bot      net.Conn
	heard    []exampleLine
}

func newExampleServer(t *testing.T) *exampleServer {
	t.Helper()
	listener := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &exampleServer{t: t, listener: listener}
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.bot != nil {
			_ = s.bot.Close()
		}
	})
	work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { s.readLines(conn) })
		}
	})
	return s
}

// readLines records what a bot that has signed in says.
func (s *exampleServer) readLines(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var l exampleLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			s.t.Error(err)
			return
		}
		s.mu.Lock()
		if l.Token == "sesame" {
			s.bot = conn
		}
		s.heard = append(s.heard, l)
		s.mu.Unlock()
	}
}

// awaitLine waits until the bot has said a line that fits.
func (s *exampleServer) awaitLine(what string, fits func(exampleLine) bool) exampleLine {
	s.t.Helper()
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		for _, l := range s.heard {
			if fits(l) {
				s.mu.Unlock()
				return l
			}
		}
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Fatalf("no %s in %+v", what, s.heard)
	return exampleLine{}
}

// sendMessage sends a message of a person, and waits until the bot has stored it.
func (s *exampleServer) sendMessage(id, user, text string) {
	s.t.Helper()
	b, err := json.Marshal(map[string]string{"id": id, "chat": user, "user": user, "text": text})
	musttest.Do(s.t, err)
	s.mu.Lock()
	_, err = s.bot.Write(append(b, '\n'))
	s.mu.Unlock()
	musttest.Do(s.t, err)
	s.awaitLine("acknowledgement of "+id, func(l exampleLine) bool { return l.Ack == id })
}

// awaitAnswer waits until a person has received a text.
func (s *exampleServer) awaitAnswer(user, text string) exampleLine {
	s.t.Helper()
	return s.awaitLine(text+" to "+user, func(l exampleLine) bool { return l.Chat == user && strings.Contains(l.Text, text) })
}

// TestANewcomerAddsAChannelAndAProtocolWithAFolderAndALineEach is what docs/architecture.md
// promises: everything that the program says of a channel or a protocol comes from its folder.
func TestANewcomerAddsAChannelAndAProtocolWithAFolderAndALineEach(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	n.expectOutput(0, []string{`"channels.example": {`, `"terminal.example": {`, `"The example bot."`, `or lines that are led by a prefix.`}, "schema")
	n.expectOutput(0, []string{"--example-token-file", "an example bot", "acp, blocks, example, keys, plain, rich, screen"}, "bots", "create", "--help")
	n.expectOutput(0, []string{"example\n"}, "__complete", "run", "--protocol", "")
	n.expectOutput(exit.Usage, []string{"telegram:123456789 or discord:123456789 or example:@ann:example.org"}, "pair", "nowhere:1")
	n.expectOutput(exit.Usage, []string{"a user's id is a name and a server"}, "pair", "example:7")

	n.configure(`{
  "terminal": {"command": "cat", "protocol": "example", "example": {"prefix": " ", "widht": 3}},
  "channels": {"example": {"enabled": true, "token": 7, "allowFrom": ["@ann:example.org", "bob"], "maxText": 1, "server": "here"}},
  "log": {"prefix": "x"}
}`)
	n.expectOutput(exit.Config, []string{
		`config.json:2:79: terminal.example.prefix: must not be blank (got " ")`,
		`config.json:2:84: terminal.example.widht: unknown key (did you mean "width"?)`,
		"config.json:3:54: channels.example.token: must be a string in quotes (got a number)",
		`config.json:3:91: channels.example.allowFrom[1]: must be a user ID such as "@ann:example.org", or "*" (got "bob")`,
		"config.json:3:110: channels.example.maxText: must be at least 10 (got 1)",
		`config.json:3:123: channels.example.server: must be a host and a port (got "here")`,
		"config.json:4:11: log.prefix: unknown key (belongs in terminal.example)",
	}, "check-config")

	server := newExampleServer(t)
	n.configure(`{
  "terminal": {"command": "printf 'you said %s' {message}", "protocol": "example", "example": {"prefix": "E> ", "width": 300}},
  "channels": {"example": {"enabled": true, "token": "env:EXAMPLE_TOKEN", "allowFrom": ["@ann:example.org"], "server": "` + server.listener.Addr().String() + `"}}
}`)
	n.expectOutput(exit.Config, []string{"channels.example: token: environment variable EXAMPLE_TOKEN is not set"}, "check-config")
	n.serve(server)
}

// serve lets the daemon talk with two people, one of whom must be let in.
func (n *newcomer) serve(server *exampleServer) {
	t := n.t
	config := filepath.Join(n.dir, "config.json")
	musttest.Do(t, os.WriteFile(filepath.Join(n.dir, "token"), []byte("sesame\n"), 0o600))
	text := musttest.Get(os.ReadFile(config))(t)
	n.configure(strings.Replace(string(text), "env:EXAMPLE_TOKEN", "file:token", 1))
	n.expectOutput(0, []string{"example: printed", "example", "can be reached"}, "doctor")

	p := startCommand(t, n.command("serve"), t.TempDir())
	server.awaitLine("token", func(l exampleLine) bool { return l.Token == "sesame" })
	server.sendMessage("1", "@ann:example.org", "hello")
	server.awaitAnswer("@ann:example.org", "E> you said hello")
	if _, err := os.Stat(filepath.Join(n.dir, "users", "@ann%3Aexample.org")); err != nil {
		t.Error(err)
	}

	server.sendMessage("2", "@bob:example.org", "let me in")
	server.awaitAnswer("@bob:example.org", "This bot is private")
	n.expectOutput(0, []string{"example:@ann:example.org\tin allowFrom of the config", "example:@bob:example.org\twaiting"}, "pair", "--list")
	n.expectOutput(0, []string{"example:@bob:example.org may talk to the bot now."}, "pair", "example:@bob:example.org")
	server.awaitAnswer("@bob:example.org", "E> you said let me in")
	n.expectOutput(0, []string{"example:@bob:example.org no longer has access."}, "pair", "--revoke", "example:@bob:example.org")
	record := musttest.Get(os.ReadFile(filepath.Join(n.dir, ".nanobot", "audit.jsonl")))(t)
	if !strings.Contains(string(record), `"@bob:example.org"`) {
		t.Errorf("no @bob:example.org in the audit log:\n%s", record)
	}
	p.signal(syscall.SIGTERM)
	if status := p.awaitExit(); status != 0 {
		t.Errorf("status %d:\n%s", status, p.log())
	}
}
