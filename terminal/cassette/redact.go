package cassette

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"nanobot/terminal"
)

// Redacted is what replaces a secret.
const Redacted = "[secret]"

// Redactor replaces secrets in texts. It is safe for concurrent use.
type Redactor struct {
	mu     sync.RWMutex
	values []string // the longest first, because a secret may contain another one
}

// NewRedactor returns a Redactor of these secrets, and of the values of the variables in environ,
// which are NAME=value, whose name is that of a secret.
func NewRedactor(environ []string, secrets ...string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add adds secrets.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values = append(r.values, secrets...)
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
}

// AddURL adds the credentials in a URL: its user information and its query.
func (r *Redactor) AddURL(address string) {
	if u, err := url.Parse(address); err == nil {
		r.Add(u.RawQuery)
	}
}

// Text replaces the secrets in a text.
func (r *Redactor) Text(text string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, v := range r.values {
		if v != "" {
			text = strings.ReplaceAll(text, v, Redacted)
		}
	}
	return text
}

func (r *Redactor) texts(texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = r.Text(out[i])
	}
	return out
}

func (r *Redactor) envelope(e terminal.Envelope) terminal.Envelope {
	e.Text = r.Text(e.Text)
	e.Providers = nil
	return e
}

func (r *Redactor) frame(f *Frame) { f.Text = r.Text(f.Text) }
