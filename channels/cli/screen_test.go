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
)

// screen is a person at a real terminal: keys go in, what is shown comes out.
type screen struct {
	t    *testing.T
	tty  *os.File // the program's end
	user *os.File
	mu   sync.Mutex
	out  []byte // shown and not yet awaited
	more chan struct{}
}

func newScreen(t *testing.T) *screen {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	user := interruptible(t, master)
	s := &screen{t: t, tty: tty, user: user, more: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	reading.Go(s.watch)
	t.Cleanup(func() {
		user.Close()
		tty.Close()
		reading.Wait()
	})
	return s
}

// interruptible is a file of which Close ends a Read that waits, which it does not on a terminal as
// pty opens it.
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

func (s *screen) watch() {
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

// await waits until text is shown after what was awaited before.
func (s *screen) await(text string) {
	s.t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		s.mu.Lock()
		i := bytes.Index(s.out, []byte(text))
		if i >= 0 {
			s.out = s.out[i+len(text):]
		}
		shown := string(s.out)
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-s.more:
		case <-deadline:
			s.t.Fatalf("%q is not shown, but %q", text, shown)
		}
	}
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.user.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// mode is the state of the terminal's line discipline.
func (s *screen) mode() *term.State {
	s.t.Helper()
	state, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

const prompt = "ask> "

func (s *screen) keyboard(h term.History) *cli.Keyboard {
	return cli.NewKeyboard(s.tty, s.tty, prompt, h)
}

type typed struct {
	text string
	err  error
}

// reading starts to read a message and returns once the prompt is shown.
func (s *screen) reading(ctx context.Context, k *cli.Keyboard) <-chan typed {
	s.t.Helper()
	done := make(chan typed, 1)
	go func() {
		text, err := k.Read(ctx)
		done <- typed{text, err}
	}()
	s.await("\x1b[?2004h") // the terminal is asked to mark pastes
	s.await(prompt)
	return done
}

// result waits for a message.
func (s *screen) result(done <-chan typed) typed {
	s.t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(5 * time.Minute):
		s.t.Fatal("the message is not read")
		return typed{}
	}
}

// read presses keys at a prompt and returns the message they make.
func (s *screen) read(k *cli.Keyboard, keys string) typed {
	s.t.Helper()
	done := s.reading(s.t.Context(), k)
	s.press(keys)
	return s.result(done)
}
