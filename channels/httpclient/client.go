// Package httpclient makes the HTTP requests of channels: it bounds answers, streams uploads,
// records whether a request was written, and waits between attempts.
package httpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
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

// Outcome is what became of a request.
type Outcome struct {
	Status  int // 0: there is no answer
	Header  http.Header
	Body    []byte
	Written bool  // the whole request was sent: it may have been carried out
	Err     error // why there is no answer, or only a part of it
}

var errSwitched = errors.New("the server wants to speak another protocol")

// Fetch makes a request and reads its answer, up to a number of bytes.
func (c *Client) Fetch(req *http.Request, most int64) Outcome {
	resp, written, err := c.Do(req)
	if err != nil {
		return Outcome{Written: written, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is a connection, which does not end with the context
		return Outcome{Written: true, Err: errSwitched}
	}
	o := Outcome{Status: resp.StatusCode, Header: resp.Header, Written: true}
	o.Body, o.Err = io.ReadAll(io.LimitReader(resp.Body, most))
	return o
}

// Hidden replaces secrets in errors.
const Hidden = "***"

// Redact removes secrets from the error of a request, and the address that http.Client adds to it.
// An error without secrets stays what it is. A secret of one character is no secret, but the path
// of an address without one.
func Redact(err error, secrets ...string) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	for _, secret := range secrets {
		if len(secret) > 1 {
			text = strings.ReplaceAll(text, secret, Hidden)
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
