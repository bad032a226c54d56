package hooks

import (
	"bytes"
	"context"
	_ "embed" // for githubExample
	"errors"
	"net/http"
	"time"
)

// githubExample is a body in the shape of a push event of GitHub.
//
//go:embed example.json
var githubExample []byte

// Example puts a signed body through the authentication and the template of a hook, as a call
// would. It returns the text of the message, which is blank if nothing would be sent.
func (h Hook) Example(ctx context.Context, name string) (string, error) {
	body := []byte("{}")
	if h.Auth == GitHub {
		body = githubExample
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, Path+name, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("X-GitHub-Event", "push")
	now := time.Now()
	h.authorize(r, body, now)
	if !h.proves(h.readCredentials(r.Header), body, now) {
		return "", errors.New("its own signature is refused")
	}
	m, err := h.message(name, r, body)
	return m.Text, err
}
