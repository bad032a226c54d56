package discord

import (
	"context"
	"net/http"

	"nanobot/channels/remote"
)

// NewTransport is the transport that the library's requests go through.
func NewTransport(base, token string, client *http.Client) http.RoundTripper {
	return &transport{base: base, token: token, next: remote.NewClient(client)}
}

// WithAnswer is the context of a request whose answer the transport records.
func WithAnswer(ctx context.Context) context.Context {
	return context.WithValue(ctx, answerKey{}, &answer{})
}
