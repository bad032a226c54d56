package discord

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/httpclient"
)

// maxAnswer bounds what is read of an answer. A hundred messages are some hundred kilobytes.
const maxAnswer = 32 << 20

// record is the outcome of one call, as the transport saw it. Every decision after a call is made
// by it and none by what the library returns: the errors of the library do not tell whether a
// request was sent, contain secrets, and are also made of answers that are only too new for its
// types.
type record struct {
	httpclient.Outcome
	route route // which was called
}

// recordKey is where a request's context has the *record that the transport fills in.
type recordKey struct{}

// withRecord returns the context of a call whose record the transport fills in.
func withRecord(ctx context.Context, o *record) context.Context {
	return context.WithValue(ctx, recordKey{}, o)
}

// transport sends requests that are made for the addresses of the library, which are variables that
// all bots of a process share, to where the API is. The token is added here, so that neither the
// library nor another server gets to see it.
type transport struct {
	base, token string
	next        *httpclient.Client // it follows no redirection
}

var errNotAPI = errors.New("not a call of Discord's API")

// RoundTrip sends a request and fills in the record of its context. The library gets the status,
// and an empty object in place of the body: it fails to decode messages with components that it
// does not know, and panics if GET /gateway/bot is answered with null. It gets no headers either:
// there is no redirection to follow and no rate limit to wait for.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	got, ok := req.Context().Value(recordKey{}).(*record)
	path, isAPI := strings.CutPrefix(req.URL.String(), discordgo.EndpointAPI)
	address, err := url.Parse(t.base + "/" + path)
	if !ok || !isAPI || err != nil {
		if req.Body != nil {
			req.Body.Close() // as an http.RoundTripper must, also without a request
		}
		return nil, errNotAPI
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = address, address.Host
	out.Header.Set("Authorization", "Bot "+t.token)
	got.Outcome = t.next.Fetch(out, maxAnswer)
	if got.Err != nil {
		got.Err = withoutSecrets(got.Err, t.token, address)
		return nil, got.Err
	}
	return &http.Response{
		Status: http.StatusText(got.Status), StatusCode: got.Status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("{}")), Request: req,
	}, nil
}

// withoutSecrets removes the token and the path and query of an address from an error: they may
// contain the token of an interaction or the signature of an attachment.
func withoutSecrets(err error, token string, address *url.URL) error {
	return httpclient.Redact(err, token, address.RequestURI(), address.EscapedPath(), address.Path, address.RawQuery)
}
