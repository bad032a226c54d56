package toolsocket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/toolsocket"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/peersocket"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// TestMain makes the test binary a client, if it is told to.
func TestMain(m *testing.M) {
	if path := os.Getenv("TEST_HAND_OVER"); path != "" {
		handOver(path)
		return
	}
	if path := os.Getenv("TEST_DIAL"); path != "" {
		_, err := toolsocket.Dial(context.Background(), path, toolsocket.Hello{Token: os.Getenv("TEST_TOKEN")})
		fmt.Println("it says:", err)
		return
	}
	goleak.VerifyTestMain(m)
}

// handOver connects, leaves the connection to another process, which prints what it gets, and ends.
func handOver(path string) {
	c, err := peersocket.Dial(context.Background(), path)
	if err != nil {
		panic(err)
	}
	if _, err := io.WriteString(c, "{}\n"); err != nil {
		panic(err)
	}
	f, err := c.File()
	if err != nil {
		panic(err)
	}
	heir := exec.Command("cat")
	heir.Stdin, heir.Stdout = f, os.Stdout
	if err := heir.Start(); err != nil {
		panic(err)
	}
}

// fixture is a server whose processes are what a test says.
type fixture struct {
	t    *testing.T
	path string

	mu      sync.Mutex // guards what follows
	owner   func(pid int) (string, bool, error)
	serve   func(ctx context.Context, conn io.ReadWriteCloser, c toolsocket.Caller) error
	refused []toolsocket.Refusal
}

// outsider is a process that does not descend from the daemon.
func outsider(int) (string, bool, error) { return "", false, nil }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	parent := musttest.Get(os.MkdirTemp("", "ts"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	musttest.Do(t, os.Chmod(parent, 0o755))
	l := musttest.Get(peersocket.Listen(parent))(t)
	fx := &fixture{t: t, path: l.Path(), owner: outsider}
	fx.serve = func(_ context.Context, conn io.ReadWriteCloser, c toolsocket.Caller) error {
		_, err := fmt.Fprintf(conn, "%+v\n", c)
		return errors.Join(err, conn.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	t.Cleanup(cancel)
	work.Go(func() {
		err := toolsocket.Run(ctx, l, toolsocket.Options{
			OwnerOf: func(pid int) (string, bool, error) {
				fx.mu.Lock()
				defer fx.mu.Unlock()
				return fx.owner(pid)
			},
			ChatOfToken: func(_ context.Context, token string) (channels.Chat, bool, error) {
				if token == "broken" {
					return channels.Chat{}, false, errors.New("disk on fire")
				}
				id, ok := strings.CutPrefix(token, "token")
				return channels.Chat{Channel: "net", ID: id}, ok, nil
			},
			Serve: func(ctx context.Context, conn io.ReadWriteCloser, c toolsocket.Caller) error {
				fx.mu.Lock()
				serve := fx.serve
				fx.mu.Unlock()
				return serve(ctx, conn, c)
			},
			ServePost: func(ctx context.Context, conn *net.UnixConn, c toolsocket.Caller) error {
				fx.mu.Lock()
				serve := fx.serve
				fx.mu.Unlock()
				return serve(ctx, conn, c)
			},
			Refused: func(f toolsocket.Refusal) {
				fx.mu.Lock()
				defer fx.mu.Unlock()
				fx.refused = append(fx.refused, f)
			},
			Log: zap.NewNop(),
		})
		if err != nil {
			t.Error(err)
		}
	})
	return fx
}

// change changes what the processes are, or how they are served.
func (fx *fixture) change(f func()) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	f()
}

// dial connects and returns what the server says of the caller, or why it is refused.
func (fx *fixture) dial(h toolsocket.Hello) (caller, refusal string) {
	fx.t.Helper()
	c, err := toolsocket.Dial(fx.t.Context(), fx.path, h)
	if err != nil {
		return "", err.Error()
	}
	defer func() { _ = c.Close() }()
	line := musttest.Get(bufio.NewReader(c).ReadString('\n'))(fx.t)
	return strings.TrimSpace(line), ""
}

func TestAProcessActsForItsOwnChatOnly(t *testing.T) {
	agents := func(int) (string, bool, error) {
		return terminal.Owner{Agent: "coder", Channel: "net", ChatID: "1"}.String(), true, nil
	}
	for name, test := range map[string]struct {
		owner           func(int) (string, bool, error)
		token           string
		caller, refusal string
	}{
		"an agent's without a token":       {agents, "", "{Owner:coder net:1 Dir:/d AskTool: Post:false Operator:false}", ""},
		"an agent's with its token":        {agents, "token1", "{Owner:coder net:1 Dir:/d AskTool: Post:false Operator:false}", ""},
		"an agent's with another's token":  {agents, "token2", "", "not that of the chat which this process works for"},
		"an agent's with nobody's token":   {agents, "nonsense", "", "not that of the chat which this process works for"},
		"an agent's when the store fails":  {agents, "broken", "", "try again"},
		"a descendant of unknown owner":    {func(int) (string, bool, error) { return "", true, process.ErrNoOwner }, "", "", "cannot tell which chat"},
		"that one with a token":            {func(int) (string, bool, error) { return "", true, process.ErrNoOwner }, "token1", "", "cannot tell which chat"},
		"a descendant that nobody owns":    {func(int) (string, bool, error) { return "", true, nil }, "token1", "", "cannot tell which chat"},
		"another one without a token":      {outsider, "", "{Owner: : Dir:/d AskTool: Post:false Operator:true}", ""},
		"another one with a token":         {outsider, "token2", "{Owner: net:2 Dir:/d AskTool: Post:false Operator:true}", ""},
		"another one with nobody's token":  {outsider, "nonsense", "", "is no chat's"},
		"another one when the store fails": {outsider, "broken", "", "try again"},
	} {
		fx := newFixture(t)
		asked := 0
		fx.change(func() { fx.owner = func(pid int) (string, bool, error) { asked = pid; return test.owner(pid) } })
		caller, refusal := fx.dial(toolsocket.Hello{Token: test.token, Dir: "/d"})
		if caller != test.caller || !strings.Contains(refusal, test.refusal) || (test.refusal == "") != (refusal == "") {
			t.Errorf("%s: %q, refused: %q", name, caller, refusal)
		}
		fx.mu.Lock()
		wanttest.Equal(t, name+": the owner of process … was asked for:", asked, os.Getpid())
		if (len(fx.refused) == 1) != (refusal != "") || refusal != "" && fx.refused[0].Peer.Pid != os.Getpid() {
			t.Errorf("%s: told of %+v", name, fx.refused)
		}
		fx.mu.Unlock()
	}
}

func TestAProcessThatPostsIsToldWhetherItIsAnAgents(t *testing.T) {
	fx := newFixture(t)
	printCaller := fx.serve
	fx.change(func() {
		fx.serve = func(ctx context.Context, conn io.ReadWriteCloser, c toolsocket.Caller) error {
			_, err := io.ReadFull(conn, make([]byte, 1))
			return errors.Join(err, printCaller(ctx, conn, c))
		}
	})
	for _, agent := range []bool{false, true} {
		if agent {
			fx.change(func() { fx.owner = func(int) (string, bool, error) { return "coder net:1", true, nil } })
		}
		conn, welcome, err := toolsocket.DialPost(t.Context(), fx.path, toolsocket.Hello{})
		musttest.Do(t, err)
		if !welcome.Post || welcome.Agent != agent {
			t.Errorf("an agent's: %t: the welcome is %+v", agent, welcome)
		}
		musttest.Get(io.WriteString(conn, "x"))(t)
		if said := musttest.Get(io.ReadAll(conn))(t); !strings.Contains(string(said), "Post:true") {
			t.Errorf("the caller is %s", said)
		}
		_ = conn.Close()
	}
}

func TestMoreProcessesCanPostAtOnceThanUseTools(t *testing.T) {
	fx := newFixture(t)
	fx.change(func() {
		fx.serve = func(ctx context.Context, _ io.ReadWriteCloser, _ toolsocket.Caller) error {
			<-ctx.Done()
			return nil
		}
	})
	var work sync.WaitGroup
	defer work.Wait()
	for range 60 { // more than 16 say hello at the same time, and some have to wait
		work.Go(func() {
			conn, _, err := toolsocket.DialPost(t.Context(), fx.path, toolsocket.Hello{})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
		})
	}
}

func TestAnotherUsersProcessIsRefusedUnlessItIsAnAgents(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	fx := newFixture(t)
	self := musttest.Get(os.ReadFile(os.Args[0]))(t)
	program := filepath.Join(filepath.Dir(filepath.Dir(fx.path)), "client") // where the user may go
	musttest.Do(t, os.WriteFile(program, self, 0o755))
	client := func(token string) string {
		cmd := exec.Command(program)
		cmd.Env = []string{"TEST_DIAL=" + fx.path, "TEST_TOKEN=" + token, "GORACE=atexit_sleep_ms=0"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Error(err)
		}
		return string(out)
	}
	for _, token := range []string{"", "token1"} {
		if said := client(token); !strings.Contains(said, "another user (65534)") {
			t.Errorf("with the token %q: %s", token, said)
		}
	}
	fx.change(func() { fx.owner = func(int) (string, bool, error) { return "default net:1", true, nil } })
	wanttest.Equal(t, "an agent's:", client("token1"), "it says: <nil>\n")
}

func TestAnExitedProcessIsRefusedEvenIfItsPIDIsReused(t *testing.T) {
	fx := newFixture(t)
	gone := make(chan struct{})
	fx.change(func() {
		fx.owner = func(int) (string, bool, error) {
			<-gone
			return "default net:1", true, nil
		}
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TEST_HAND_OVER=" + fx.path, "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	err = cmd.Run()
	_ = w.Close()
	close(gone)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(out); err != nil || !strings.Contains(string(said), "the process that connected is gone") {
		t.Errorf("it says %q, %v", said, err)
	}
	_ = out.Close()
}

func TestAConnectionWithoutAHelloIsClosed(t *testing.T) {
	fx := newFixture(t)
	for _, line := range []string{"", "GET / HTTP/1.1\r\n", "{}{}\n", `"text"` + "\n", strings.Repeat("x", 100_000) + "\n"} {
		c := musttest.Get(net.Dial("unix", fx.path))(t)
		_, _ = io.WriteString(c, line)
		_ = c.(*net.UnixConn).CloseWrite()
		if said, _ := io.ReadAll(c); len(said) > 0 {
			t.Errorf("to %.20q it says %q", line, said)
		}
		_ = c.Close()
	}
	if _, refusal := fx.dial(toolsocket.Hello{}); refusal != "" {
		t.Errorf("after that: %s", refusal)
	}
}

func TestBytesRightAfterTheHelloAreNotLost(t *testing.T) {
	fx := newFixture(t)
	fx.change(func() {
		fx.serve = func(_ context.Context, conn io.ReadWriteCloser, _ toolsocket.Caller) error {
			_, err := io.Copy(conn, conn)
			return errors.Join(err, conn.Close())
		}
	})
	c := musttest.Get(net.Dial("unix", fx.path))(t)
	defer func() { _ = c.Close() }()
	musttest.Get(io.WriteString(c, "{}\nand more"))(t)
	_ = c.(*net.UnixConn).CloseWrite()
	if said, err := io.ReadAll(c); err != nil || string(said) != "{}\nand more" {
		t.Errorf("it says %q, %v", said, err)
	}
}

func TestConnectionsEndWithTheServer(t *testing.T) {
	parent := t.TempDir()
	l := musttest.Get(peersocket.Listen(parent))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- toolsocket.Run(ctx, l, toolsocket.Options{
			OwnerOf: outsider, Log: zap.NewNop(),
			Serve: func(_ context.Context, conn io.ReadWriteCloser, _ toolsocket.Caller) error {
				_, err := io.Copy(io.Discard, conn) // which does not look at ctx
				return err
			},
		})
	}()
	served := musttest.Get(toolsocket.Dial(t.Context(), l.Path(), toolsocket.Hello{}))(t)
	silent := musttest.Get(net.Dial("unix", l.Path()))(t)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for name, c := range map[string]net.Conn{"served": served, "silent": silent} {
		if said, _ := io.ReadAll(c); len(said) > 0 {
			t.Errorf("%s: %q", name, said)
		}
		_ = c.Close()
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestSilentConnectionsOfOneUserKeepNoAgentOut opens more connections than the daemon accepts at
// the same time, and says no hello on any. The daemon closes them after ten seconds.
func TestSilentConnectionsOfOneUserKeepNoAgentOut(t *testing.T) {
	pausetest.Try(t, 3*time.Second, func() error { return checkSilentConnections(t) })
}

func checkSilentConnections(t *testing.T) error {
	t.Helper()
	fx, began := newFixture(t), time.Now()
	for range 600 {
		c := musttest.Get(net.Dial("unix", fx.path))(t)
		defer func() { _ = c.Close() }()
	}
	refused := 0
	for deadline := time.Now().Add(waitTimeout); refused < 60; time.Sleep(time.Millisecond) { // no more are recorded at once
		if fx.change(func() { refused = len(fx.refused) }); time.Now().After(deadline) {
			t.Fatalf("%d are refused", refused)
		}
	}
	if _, refusal := fx.dial(toolsocket.Hello{}); !strings.Contains(refusal, "16 connections of this chat or user") {
		return fmt.Errorf("one more of the user: %q", refusal)
	}
	fx.change(func() { fx.owner = func(int) (string, bool, error) { return "default net:1", true, nil } })
	// Some of the silent ones may still have been identified as the agent's.
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(time.Millisecond) {
		caller, refusal := fx.dial(toolsocket.Hello{})
		if refusal == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("an agent: %q, refused: %q", caller, refusal)
		}
	}
	most := 61 + time.Since(began)/time.Second // one more each second
	if fx.change(func() { refused = len(fx.refused) }); refused > int(most) {
		return fmt.Errorf("%d refusals are recorded, want at most %d", refused, most)
	}
	return nil
}

// waitTimeout is how long a test waits. Only a failing test waits that long.
const waitTimeout = 5 * time.Minute

func TestAProcessOfNoKnownChatIsRefusedBeforeItsHello(t *testing.T) {
	fx := newFixture(t)
	fx.change(func() { fx.owner = func(int) (string, bool, error) { return "", true, nil } })
	c := musttest.Get(net.Dial("unix", fx.path))(t)
	defer func() { _ = c.Close() }()
	if said, err := io.ReadAll(c); err != nil || !strings.Contains(string(said), "cannot tell which chat") {
		t.Errorf("it says %q, %v", said, err)
	}
}
