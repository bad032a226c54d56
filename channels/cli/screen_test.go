package cli_test

import (
	"bytes"
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"nanobot/channels/cli"
	"nanobot/internal/musttest"
)

// testTerminal is a pseudo-terminal: tests write keys and read the screen.
type testTerminal struct {
	t    *testing.T
	tty  *os.File // the program's end
	user *os.File
	mu   sync.Mutex
	out  []byte // shown and not yet awaited
	more chan struct{}
}

func newTestTerminal(t *testing.T) *testTerminal {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	musttest.Do(t, pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}))
	user := interruptible(t, master)
	s := &testTerminal{t: t, tty: tty, user: user, more: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	reading.Go(s.watch)
	t.Cleanup(func() {
		user.Close()
		tty.Close()
		reading.Wait()
	})
	return s
}

// interruptible reopens a file so that Close ends a blocked Read, which it does not for a terminal
// opened by pty.
func interruptible(t *testing.T, f *os.File) *os.File {
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func (s *testTerminal) watch() {
	b := make([]byte, 4096)
	for {
		n, err := s.user.Read(b)
		s.mu.Lock()
		s.out = append(s.out, b[:n]...)
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// await waits until text is shown after the text that was awaited before, and returns what is shown
// in between.
func (s *testTerminal) await(text string) (before string) {
	s.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		s.mu.Lock()
		i := bytes.Index(s.out, []byte(text))
		if i >= 0 {
			before = string(s.out[:i])
			s.out = s.out[i+len(text):]
		}
		shown := string(s.out)
		s.mu.Unlock()
		if i >= 0 {
			return before
		}
		select {
		case <-s.more:
		case <-deadline:
			s.t.Fatalf("%q is not shown, but %q", text, shown)
		}
	}
}

func (s *testTerminal) press(keys string) {
	s.t.Helper()
	musttest.Get(s.user.WriteString(keys))(s.t)
}

// mode returns the state of the terminal's line discipline.
func (s *testTerminal) mode() *term.State {
	s.t.Helper()
	state := musttest.Get(term.GetState(int(s.tty.Fd())))(s.t)
	return state
}

const prompt = "ask> "

func (s *testTerminal) keyboard(h term.History) *cli.Keyboard {
	return cli.NewKeyboard(s.tty, s.tty, prompt, h)
}

type readResult struct {
	text string
	err  error
}

// startRead starts to read a message and returns once the prompt is shown.
func (s *testTerminal) startRead(ctx context.Context, k *cli.Keyboard) <-chan readResult {
	s.t.Helper()
	done := make(chan readResult, 1)
	go func() {
		text, err := k.Read(ctx)
		done <- readResult{text, err}
	}()
	s.await("\x1b[?2004h") // the terminal is asked to mark pastes
	s.await(prompt)
	return done
}

// awaitRead waits for the result of a read.
func (s *testTerminal) awaitRead(done <-chan readResult) readResult {
	s.t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(5 * time.Minute):
		s.t.Fatal("the message is not read")
		return readResult{}
	}
}

// read types keys at a prompt and returns the resulting message.
func (s *testTerminal) read(k *cli.Keyboard, keys string) readResult {
	s.t.Helper()
	done := s.startRead(s.t.Context(), k)
	s.press(keys)
	return s.awaitRead(done)
}
