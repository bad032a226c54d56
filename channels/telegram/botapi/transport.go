package botapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strings"

	"nanobot/channels/httpclient"
)

// maxAnswer bounds a response body. A batch of 100 updates has some hundred kilobytes.
const maxAnswer = 32 << 20

// transport makes the requests of all calls, those of the library included, and records the outcome
// of each.
type transport struct {
	http *httpclient.Client
}

// callRecord is the outcome of one call as the transport saw it. It alone decides what follows a
// call, never the library's result: the library's errors do not say whether a request was sent,
// and also occur for responses that are only too new for its types.
type callRecord struct {
	httpclient.Outcome
	method string          // "": no request was made
	result json.RawMessage // set by checkResponse
}

// callRecordKey is the context key of the *callRecord that the transport fills in.
type callRecordKey struct{}

// withRecord returns a context with a record that the transport fills in.
func withRecord(ctx context.Context, o *callRecord) context.Context {
	return context.WithValue(ctx, callRecordKey{}, o)
}

// emptyResult is the response body that the library gets. It would decode the real one in vain, and
// could fail on new fields.
const emptyResult = `{"ok":true,"result":null}`

// Do makes a request and fills in the record of its context.
func (t *transport) Do(req *http.Request) (*http.Response, error) {
	got, ok := req.Context().Value(callRecordKey{}).(*callRecord)
	if !ok {
		got = &callRecord{}
	}
	got.method = path.Base(req.URL.Path)
	if got.method != getUpdates { // whose answer waits for updates
		var cancel context.CancelFunc
		req, cancel = t.http.Limited(req)
		defer cancel()
	}
	got.Outcome = t.http.Fetch(req, maxAnswer)
	if got.Err != nil {
		return nil, got.Err
	}
	return &http.Response{
		StatusCode: got.Status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(emptyResult)), Request: req,
	}, nil
}
