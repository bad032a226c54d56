// Package httpclient makes the HTTP requests of channels: it bounds responses, streams uploads,
// records whether a request was written, and waits between attempts. It knows nothing of networks.
package httpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"nanobot/channels"
)

// Client makes requests. It follows no redirects, which would send a token to another server. Its
// errors contain neither the token nor the path of a URL, which may contain another secret.
type Client struct {
	*http.Client
	token    string
	callTime time.Duration
	skew     atomic.Pointer[time.Duration] // nil: unknown
}

// NewClient returns a client with the settings of the given one; nil means default settings. A
// Timeout of the given one replaces CallTime.
func NewClient(given *http.Client, token string) *Client {
	own := http.Client{}
	if given != nil {
		own = *given
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = t.MaxIdleConns // with HTTP/1, as many as calls at the same time
		// Pings detect a broken connection; otherwise each of its requests would have to time out.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second}
		own.Transport = t
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	callTime := cmp.Or(own.Timeout, CallTime)
	own.Timeout = 0 // which would also bound requests with files, and those that wait for updates
	return &Client{Client: &own, token: token, callTime: callTime}
}

// Do makes a request. If there is no response, written says whether the request was written, and so
// may have been carried out. A request that its context's guard forbids is not written.
func (c *Client) Do(req *http.Request) (resp *http.Response, written bool, err error) {
	var wrote atomic.Bool
	trace := &httptrace.ClientTrace{
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				wrote.Store(true)
			}
		},
	}
	if err := channels.CheckGuard(req.Context()); err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, false, err
	}
	resp, err = c.Client.Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	return resp, wrote.Load(), c.RedactError(err, req.URL)
}

// ClockSkew returns how far the server's clock is ahead of the local one, if a response had a date.
func (c *Client) ClockSkew() (skew time.Duration, known bool) {
	if d := c.skew.Load(); d != nil {
		return *d, true
	}
	return 0, false
}

// updateClockSkew compares the clocks. The header has a resolution of seconds, so less than a
// minute counts as none.
func (c *Client) updateClockSkew(date string) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	skew := time.Until(theirs)
	if skew.Abs() < time.Minute {
		skew = 0
	}
	c.skew.Store(&skew)
}

// Outcome is the result of a request.
type Outcome struct {
	Status  int // 0: there is no response
	Header  http.Header
	Body    []byte
	Written bool  // the whole request was sent, so it may have been carried out
	Err     error // why there is no response, or only a part of it
}

const (
	// CallTime is how long a server may take to answer a request without files. A request that gets
	// no answer delays the next ones of its chat for as long.
	CallTime = 15 * time.Second
	// slowLine is the speed of a slow connection in bytes per second: files get more time.
	slowLine = 64 << 10
)

// Limited returns a request that ends when it has taken longer than its size explains. The wait for
// a rate limit comes before, and takes none of this time.
func (c *Client) Limited(req *http.Request) (*http.Request, context.CancelFunc) {
	limit := c.callTime + time.Duration(max(req.ContentLength, 0)/slowLine)*time.Second
	ctx, cancel := context.WithTimeout(req.Context(), limit)
	return req.WithContext(ctx), cancel
}

var errSwitchingProtocols = errors.New("the server wants to speak another protocol")

// Fetch makes a request of an API and reads its response, up to a number of bytes.
func (c *Client) Fetch(req *http.Request, maxBytes int64) Outcome {
	resp, written, err := c.Do(req)
	if err != nil {
		return Outcome{Written: written, Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body is a connection that does not end with the context
		return Outcome{Written: true, Err: errSwitchingProtocols}
	}
	c.updateClockSkew(resp.Header.Get("Date"))
	o := Outcome{Status: resp.StatusCode, Header: resp.Header, Written: true}
	o.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	o.Err = c.RedactError(err, req.URL)
	return o
}

// TooBigError is the error of a file above a size limit.
type TooBigError struct{ Limit int64 }

func (e *TooBigError) Error() string { return fmt.Sprintf("more than %d bytes", e.Limit) }

// Download writes the body of a successful response. One with more than maxBytes is a TooBigError.
// After any other error there is no response, or only a part of it; otherwise status is that of the
// response.
func (c *Client) Download(req *http.Request, to io.Writer, maxBytes int64) (status int, written bool, err error) {
	resp, written, err := c.Do(req)
	if err != nil {
		return 0, written, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, true, nil
	}
	n, err := io.Copy(to, io.LimitReader(resp.Body, maxBytes+1))
	if err == nil && n > maxBytes {
		err = &TooBigError{maxBytes}
	}
	return resp.StatusCode, true, c.RedactError(err, req.URL)
}

// RedactedSecret replaces secrets in errors.
const RedactedSecret = "***"

// Redact removes the token from a text.
func (c *Client) Redact(text string) string {
	return strings.ReplaceAll(text, c.token, RedactedSecret)
}

// RedactError removes secrets from the error of a request, and the URL that http.Client adds: the
// token, and the parts of an address, which may be nil. An error without secrets is returned
// unchanged. A secret of one character is ignored: it is the path of a URL without one.
func (c *Client) RedactError(err error, address *url.URL) error {
	if err == nil {
		return nil
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	secrets := []string{c.token}
	if address != nil {
		secrets = append(secrets, address.RequestURI(), address.EscapedPath(), address.Path, address.RawQuery)
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
