package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"
)

// Piped reads one message per line from an input that is not a terminal.
type Piped struct {
	lines <-chan inputLine
}

type inputLine struct {
	text string
	err  error
}

// NewPiped reads r until it ends. While r blocks, its goroutine stays until the process exits: an
// inherited stdin cannot be interrupted.
func NewPiped(r io.Reader) *Piped {
	lines := make(chan inputLine)
	in := bufio.NewReader(r)
	go func() {
		for {
			text, err := in.ReadString('\n')
			if text != "" {
				lines <- inputLine{text: strings.TrimRight(text, "\r\n")}
			}
			if err != nil {
				lines <- inputLine{err: err}
				close(lines) // later reads return io.EOF
				return
			}
		}
	}()
	return &Piped{lines: lines}
}

// Read returns the next line, and io.EOF after the last one, however often it is called.
func (p *Piped) Read(ctx context.Context) (string, error) {
	select {
	case l, more := <-p.lines:
		if !more {
			return "", io.EOF
		}
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ErrInterrupted says that the person has pressed Ctrl-C. It is also an io.EOF, because Ctrl-C at
// the prompt leaves the chat.
var ErrInterrupted = fmt.Errorf("interrupted by the person: %w", io.EOF)

// Keyboard reads messages typed on a terminal, with line editing and history. A paste of several
// lines is one message.
type Keyboard struct {
	tty         *os.File
	keys        *pasteReader
	editor      *term.Terminal
	newEditor   func() *term.Terminal
	prompt      string
	pendingRead chan inputLine // result of a read whose caller has gone; nil: no read is in progress
	out         io.Writer
	hidden      atomic.Bool // the line being typed is neither shown nor added to the history
	// Hides reports whether a line that is typed now is a password; nil: it never is.
	Hides func() bool
	// SecretEnded is printed when a password that is being typed is no longer needed.
	SecretEnded string

	mu  sync.Mutex
	raw bool // a line is being typed and the terminal is in raw mode
}

// NewKeyboard returns the keyboard of tty, which prompts on it and adds lines to history.
func NewKeyboard(tty *os.File, out io.Writer, prompt string, history term.History) *Keyboard {
	k := &Keyboard{tty: tty, keys: &pasteReader{r: tty}, out: out, prompt: prompt}
	k.newEditor = func() *term.Terminal {
		editor := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{hidingReader{k}, hidingWriter{k}}, prompt)
		if history != nil {
			editor.History = hidingHistory{history, k}
		}
		return editor
	}
	k.editor = k.newEditor()
	return k
}

// Read keeps the terminal in raw mode only while it waits for a line, so that Ctrl-C is a signal
// while a turn runs.
func (k *Keyboard) Read(ctx context.Context) (string, error) {
	if k.Hides != nil && k.Hides() {
		return k.ReadSecret(ctx)
	}
	if k.pendingRead != nil && k.hidden.Load() { // nobody waits for this secret any more
		if _, err := io.WriteString(k.out, "\n"+k.SecretEnded+"\n"); err != nil {
			return "", err
		}
		if _, err := k.read(ctx, ""); err != nil {
			return "", err
		}
	}
	return k.read(ctx, "")
}

// read reads a line. prompt is printed once the terminal no longer shows by itself what is typed.
func (k *Keyboard) read(ctx context.Context, prompt string) (string, error) {
	state, err := term.MakeRaw(int(k.tty.Fd()))
	if err != nil {
		return "", err
	}
	k.setRaw(true)
	defer func() {
		k.setRaw(false)
		_ = term.Restore(int(k.tty.Fd()), state)
	}()
	if _, err := io.WriteString(k.out, prompt); err != nil {
		return "", err
	}
	if w, h, err := term.GetSize(int(k.tty.Fd())); err == nil && w > 0 { // some terminals do not report their width
		_ = k.editor.SetSize(w, h)
	}
	k.editor.SetBracketedPasteMode(true)
	defer k.editor.SetBracketedPasteMode(false)
	if k.pendingRead == nil {
		typed := make(chan inputLine, 1)
		k.pendingRead = typed
		go func() {
			text, err := k.readMessage()
			typed <- inputLine{text, err}
		}()
	}
	select {
	case l := <-k.pendingRead:
		k.pendingRead = nil
		if k.hidden.Swap(false) { // the end of the line was not shown either
			if _, err := io.WriteString(k.out, "\r\n"); err != nil {
				return "", err
			}
		}
		if errors.Is(l.err, io.EOF) && k.keys.interrupted {
			return "", k.interrupt()
		}
		return l.text, l.err
	case <-ctx.Done(): // the read cannot be interrupted: the next call gets its result
		return "", ctx.Err()
	}
}

// interrupt ends the line in which Ctrl-C was pressed. The line editor would return the end of the
// input for ever after, so another one takes its place.
func (k *Keyboard) interrupt() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys.interrupted = false
	k.editor = k.newEditor()
	if _, err := io.WriteString(k.out, "^C\r\n"); err != nil {
		return err
	}
	return ErrInterrupted
}

func (k *Keyboard) setRaw(on bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.raw = on
}

// Write prints on the terminal, above the line that is being typed if there is one.
func (k *Keyboard) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.raw && k.hidden.Load() {
		_, err := io.WriteString(k.out, strings.ReplaceAll(string(p), "\n", "\r\n"))
		return len(p), err
	}
	if k.raw {
		return k.editor.Write(p)
	}
	return k.out.Write(p)
}

// readMessage reads lines until a line end was typed, not pasted.
func (k *Keyboard) readMessage() (string, error) {
	var lines []string
	for {
		text, err := k.editor.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		lines = append(lines, text)
		if err == nil && !k.keys.inPaste {
			return strings.Trim(strings.Join(lines, "\n"), "\n"), nil
		}
	}
}
