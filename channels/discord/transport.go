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

// maxAnswer bounds a response body. A page of 100 messages has some hundred kilobytes.
const maxAnswer = 32 << 20

// callRecord is the outcome of one call as the transport saw it. It alone decides what follows a
// call, never the library's result: the library's errors do not say whether a request was sent,
// contain secrets, and also occur for responses that are only too new for its types.
type callRecord struct {
	httpclient.Outcome
	route route // of the call
}

// callRecordKey is the context key of the *callRecord that the transport fills in.
type callRecordKey struct{}

// withRecord returns a context with a record that the transport fills in.
func withRecord(ctx context.Context, o *callRecord) context.Context {
	return context.WithValue(ctx, callRecordKey{}, o)
}

// transport redirects the library's requests to the configured API: the library's addresses are
// package variables, shared by all bots of a process. It adds the token, so that neither the
// library nor another server sees it.
type transport struct {
	base, token string
	next        *httpclient.Client // follows no redirects
}

var errNotAPI = errors.New("not a call of Discord's API")

// RoundTrip sends a request and fills in the record of its context. The library gets the status and
// an empty object as the body: it cannot decode messages with unknown components, and panics if GET
// /gateway/bot returns null. It gets no headers, so it follows no redirect and waits for no rate
// limit.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	got, ok := req.Context().Value(callRecordKey{}).(*callRecord)
	path, isAPI := strings.CutPrefix(req.URL.String(), discordgo.EndpointAPI)
	address, err := url.Parse(t.base + "/" + path)
	if !ok || !isAPI || err != nil {
		if req.Body != nil {
			req.Body.Close() // as an http.RoundTripper must, also without a request
		}
		return nil, errNotAPI
	}
	out, cancel := t.next.Limited(req.Clone(req.Context()))
	defer cancel()
	out.URL, out.Host = address, address.Host
	out.Header.Set("Authorization", "Bot "+t.token)
	got.Outcome = t.next.Fetch(out, maxAnswer)
	if got.Err != nil {
		return nil, got.Err
	}
	return &http.Response{
		Status: http.StatusText(got.Status), StatusCode: got.Status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("{}")), Request: req,
	}, nil
}
