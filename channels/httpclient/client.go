// Package httpclient makes the HTTP requests of channels: it bounds responses, streams uploads,
// records whether a request was written, and waits between attempts. It knows nothing of networks.
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

// Client makes requests. It follows no redirects, which would send a token to another server.
type Client struct{ *http.Client }

// NewClient returns a client with the settings of the given one; nil means default settings.
func NewClient(given *http.Client) *Client {
	own := http.Client{}
	if given != nil {
		own = *given
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 8
		// Pings detect a broken connection; otherwise each of its requests would have to time out.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second}
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{&own}
}

// Do makes a request. If there is no response, written says whether the request was written, and so
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

// Outcome is the result of a request.
type Outcome struct {
	Status  int // 0: there is no response
	Header  http.Header
	Body    []byte
	Written bool  // the whole request was sent, so it may have been carried out
	Err     error // why there is no response, or only a part of it
}

var errSwitchingProtocols = errors.New("the server wants to speak another protocol")

// Fetch makes a request and reads its response, up to a number of bytes.
func (c *Client) Fetch(req *http.Request, maxBytes int64) Outcome {
	resp, written, err := c.Do(req)
	if err != nil {
		return Outcome{Written: written, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body is a connection that does not end with the context
		return Outcome{Written: true, Err: errSwitchingProtocols}
	}
	o := Outcome{Status: resp.StatusCode, Header: resp.Header, Written: true}
	o.Body, o.Err = io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	return o
}

// RedactedSecret replaces secrets in errors.
const RedactedSecret = "***"

// Redact removes secrets from the error of a request, and the URL that http.Client adds. An error
// without secrets is returned unchanged. A secret of one character is ignored: it is the path of a
// URL without one.
func Redact(err error, secrets ...string) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	for _, secret := range secrets {
		if len(secret) > 1 {
			text = strings.ReplaceAll(text, secret, RedactedSecret)
		}
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
