package discord

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels/remote"
)

// maxAnswer bounds what is read of an answer. A hundred messages are some hundred kilobytes.
const maxAnswer = 32 << 20

// answer is what became of one call, as the transport saw it. Every decision after a call is made
// by it and none by what the library returns: the errors of the library do not tell whether a
// request was sent, contain secrets, and are also made of answers that are only too new for its
// types.
type answer struct {
	status  int // 0: there is no answer
	header  http.Header
	body    []byte
	written bool  // the whole request was sent: it may have been carried out
	err     error // why there is no answer, or only a part of it
}

// answerKey is where a request's context has the *answer that the transport fills in.
type answerKey struct{}

// transport sends requests that are made for the addresses of the library, which are variables that
// all bots of a process share, to where the API is. The token is added here, so that neither the
// library nor another server gets to see it.
type transport struct {
	base, token string
	next        *remote.Client // it follows no redirection
}

var errNotAPI = errors.New("not a call of Discord's API")

// RoundTrip sends a request and fills in the answer of its context. The library gets the status,
// and an empty object in place of the body: it fails to decode messages with components that it
// does not know, and panics if GET /gateway/bot is answered with null. It gets no headers either:
// there is no redirection to follow and no rate limit to wait for.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	got, ok := req.Context().Value(answerKey{}).(*answer)
	path, isAPI := strings.CutPrefix(req.URL.String(), discordgo.EndpointAPI)
	if !ok || !isAPI {
		return nil, errNotAPI
	}
	address, err := url.Parse(t.base + "/" + path)
	if err != nil {
		return nil, errNotAPI
	}
	out := req.Clone(req.Context())
	out.URL, out.Host = address, address.Host
	out.Header.Set("Authorization", "Bot "+t.token)
	if err := t.send(out, got); err != nil {
		got.err = withoutSecrets(err, t.token, address)
		return nil, got.err
	}
	return &http.Response{
		Status: http.StatusText(got.status), StatusCode: got.status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("{}")), Request: req,
	}, nil
}

// send sends a request and reads its answer.
func (t *transport) send(req *http.Request, got *answer) error {
	resp, written, err := t.next.Do(req)
	got.written = written
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got.written, got.status, got.header = true, resp.StatusCode, resp.Header
	got.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return err
}

// withoutSecrets removes the token and the path and query of an address from an error: they may
// contain the token of an interaction or the signature of an attachment.
func withoutSecrets(err error, token string, address *url.URL) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	for _, secret := range []string{token, address.RequestURI(), address.EscapedPath(), address.RawQuery} {
		if len(secret) > 1 {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
