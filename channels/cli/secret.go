package cli

import (
	"context"
	"io"

	"golang.org/x/term"
)

// ReadSecret is Read for a password: what is typed is neither shown nor added to the history.
func (k *Keyboard) ReadSecret(ctx context.Context) (string, error) {
	k.hidden.Store(true)
	if _, err := io.WriteString(k.out, k.prompt); err != nil {
		return "", err
	}
	k.pendingSecret = true
	text, err := k.read(ctx)
	if k.pendingRead != nil { // it stays hidden until its line ends
		return "", err
	}
	k.pendingSecret = false
	k.hidden.Store(false)
	if _, err := io.WriteString(k.out, "\r\n"); err != nil {
		return "", err
	}
	return text, err
}

// SecretInput is the keyboard of a person who may have to type a password.
type SecretInput struct {
	*Keyboard
	// Hides reports whether the next line is a password.
	Hides func() bool
}

var _ Input = SecretInput{}

// Read reads a line, which is not shown if it is a password.
func (s SecretInput) Read(ctx context.Context) (string, error) {
	if s.Hides() {
		return s.ReadSecret(ctx)
	}
	return s.Keyboard.Read(ctx)
}

// hidingWriter is the output of the line editor, without what is typed in secret.
type hidingWriter struct{ k *Keyboard }

func (w hidingWriter) Write(p []byte) (int, error) {
	if w.k.hidden.Load() {
		return len(p), nil
	}
	return w.k.out.Write(p)
}

// hidingHistory is the history of the line editor, without what is typed in secret.
type hidingHistory struct {
	term.History
	k *Keyboard
}

// Add adds a line, unless it is a secret.
func (h hidingHistory) Add(line string) {
	if !h.k.hidden.Load() {
		h.History.Add(line)
	}
}
