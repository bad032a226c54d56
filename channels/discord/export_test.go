package discord

import (
	"context"
	"net/http"

	"nanobot/channels/httpclient"
)

// NewTransport is the transport that the library's requests go through.
func NewTransport(base, token string, client *http.Client) http.RoundTripper {
	return &transport{base: base, token: token, next: httpclient.NewClient(client, token)}
}

// WithRecord is the context of a request whose outcome the transport records.
func WithRecord(ctx context.Context) context.Context { return withRecord(ctx, &callRecord{}) }

// RouteOf returns the name of the route that a request was made for, and its major parameter.
func RouteOf(req *http.Request) (name, major string) {
	if o, ok := req.Context().Value(callRecordKey{}).(*callRecord); ok {
		return o.route.name, o.route.major
	}
	return "", ""
}
