package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Piped reads one message a line from something that is not a terminal.
type Piped struct {
	lines <-chan line
}

type line struct {
	text string
	err  error
}

// NewPiped reads r until it ends. A reader that blocks for ever keeps its goroutine until the
// process exits: an inherited stdin cannot be interrupted.
func NewPiped(r io.Reader) *Piped {
	lines := make(chan line)
	in := bufio.NewReader(r)
	go func() {
		for {
			text, err := in.ReadString('\n')
			if text != "" {
				lines <- line{text: strings.TrimRight(text, "\r\n")}
			}
			if err != nil {
				lines <- line{err: err}
				close(lines) // who reads on finds the end again
				return
			}
		}
	}()
	return &Piped{lines: lines}
}

// Read returns the next line, and io.EOF behind the last one, however often it is called.
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

// Keyboard reads messages typed on a terminal, with line editing and history. Pasted lines are one
// message.
type Keyboard struct {
	tty    *os.File
	keys   *pasteReader
	editor *term.Terminal
	typed  chan line // of a read that nobody waits for any more; nil: none is under way
	out    io.Writer

	mu  sync.Mutex
	raw bool // a line is being typed, and the terminal in raw mode
}

// NewKeyboard returns the keyboard of tty, which prompts on it and remembers lines in history.
func NewKeyboard(tty *os.File, out io.Writer, prompt string, history term.History) *Keyboard {
	keys := &pasteReader{r: tty}
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, out}, prompt)
	if history != nil {
		editor.History = history
	}
	return &Keyboard{tty: tty, keys: keys, editor: editor, out: out}
}

// Read puts the terminal into raw mode only while it waits for a line, so that Ctrl-C is a signal
// while a turn runs.
func (k *Keyboard) Read(ctx context.Context) (string, error) {
	state, err := term.MakeRaw(int(k.tty.Fd()))
	if err != nil {
		return "", err
	}
	k.setRaw(true)
	defer func() {
		k.setRaw(false)
		_ = term.Restore(int(k.tty.Fd()), state)
	}()
	if w, h, err := term.GetSize(int(k.tty.Fd())); err == nil && w > 0 { // some terminals do not say how wide they are
		_ = k.editor.SetSize(w, h)
	}
	k.editor.SetBracketedPasteMode(true)
	defer k.editor.SetBracketedPasteMode(false)
	if k.typed == nil {
		typed := make(chan line, 1)
		k.typed = typed
		go func() {
			text, err := k.message()
			typed <- line{text, err}
		}()
	}
	select {
	case l := <-k.typed:
		k.typed = nil
		return l.text, l.err
	case <-ctx.Done(): // the read itself cannot be interrupted: what it reads is for the next one
		return "", ctx.Err()
	}
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
	if k.raw {
		return k.editor.Write(p)
	}
	return k.out.Write(p)
}

// message reads lines until one ends with a key that was pressed and not pasted.
func (k *Keyboard) message() (string, error) {
	var lines []string
	for {
		text, err := k.editor.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		lines = append(lines, text)
		if err == nil && !k.keys.open {
			return strings.Trim(strings.Join(lines, "\n"), "\n"), nil
		}
	}
}
