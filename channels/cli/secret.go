package cli

import (
	"context"

	"golang.org/x/term"
)

// ReadSecret is Read for a password: what is typed is neither shown nor added to the history.
func (k *Keyboard) ReadSecret(ctx context.Context) (string, error) {
	k.hidden.Store(true)
	return k.read(ctx, k.prompt)
}

// SecretInput reads passwords from a keyboard.
type SecretInput struct{ *Keyboard }

var _ Input = SecretInput{}

// Read reads a password.
func (s SecretInput) Read(ctx context.Context) (string, error) { return s.ReadSecret(ctx) }

// hidingReader is the input of the line editor. It hides the rest of a line if a program begins to
// read a password while the line is typed.
type hidingReader struct{ k *Keyboard }

func (r hidingReader) Read(p []byte) (int, error) {
	n, err := r.k.keys.Read(p)
	if r.k.Hides != nil && r.k.Hides() {
		r.k.mu.Lock() // Write prints through the line editor unless the line is hidden
		defer r.k.mu.Unlock()
		r.k.hidden.Store(true)
	}
	return n, err
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
