// Package remote is what channels to networks on the internet share: how requests are made, what
// they carry, and how failures are waited out.
package remote

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Client makes requests. It follows no redirection, which would take a token to somebody else.
type Client struct{ *http.Client }

// NewClient returns a client that works like the given one; nil is one of its own.
func NewClient(given *http.Client) *Client {
	own := http.Client{}
	if given != nil {
		own = *given
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 8
		// A connection that died without a word is noticed by pings instead of by each of its
		// requests.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second}
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{&own}
}

// Do makes a request and says, when there is no answer, whether the request was written: then it
// may have been carried out.
func (c *Client) Do(req *http.Request) (resp *http.Response, written bool, err error) {
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				wrote.Store(true)
			}
		},
	}
	resp, err = c.Client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	return resp, wrote.Load(), err
}
