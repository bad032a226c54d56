package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// apiError is an error response of Discord, or of a proxy in front of it.
type apiError struct {
	Name       string // name of the request, for messages
	Status     int
	Code       int // Discord's error code; 0 if the response is not Discord's
	Message    string
	Details    string // the errors of the request's fields, as JSON
	RetryAfter time.Duration
	Shared     bool // other users have exhausted a shared limit
	Global     bool // the limit applies to all calls
	NotDiscord bool // the response is not Discord's but a proxy's, for example
}

func (e *apiError) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.Name, e.Status, e.Message)
	if e.Code != 0 {
		text += fmt.Sprintf(" (%d)", e.Code)
	}
	if e.Details != "" {
		text += " " + e.Details
	}
	return text
}

var (
	// errNotDiscord is the error of a success response that cannot be Discord's.
	errNotDiscord = errors.New("the response is not from Discord")
	errNoRequest  = errors.New("the library made no request")
)

// newAPIError converts an error response. One that is not JSON is a proxy's.
func (a *api) newAPIError(got *callRecord) error {
	var body struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		Errors     json.RawMessage `json:"errors"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
	}
	e := &apiError{
		Name: got.route.name, Status: got.Status, NotDiscord: true,
		Shared: got.Header.Get("X-RateLimit-Scope") == "shared",
	}
	if json.Unmarshal(got.Body, &body) == nil {
		e.NotDiscord, e.Global = false, body.Global
		e.Code, e.Message = body.Code, a.http.Redact(body.Message)
		e.Details = a.http.Redact(excerpt(body.Errors, 300))
		e.RetryAfter = durationOf(body.RetryAfter)
	}
	if e.Message == "" {
		e.Message = http.StatusText(got.Status)
	}
	if after, err := strconv.ParseFloat(got.Header.Get("Retry-After"), 64); err == nil {
		e.RetryAfter = max(e.RetryAfter, durationOf(after))
	}
	if e.Status == http.StatusTooManyRequests {
		e.RetryAfter = max(e.RetryAfter, 100*time.Millisecond)
	}
	return e
}

// durationOf converts seconds as Discord sends them, limited to a day.
func durationOf(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 86400) * float64(time.Second))
}

// excerpt returns the beginning of JSON on one line.
func excerpt(b json.RawMessage, maxBytes int) string {
	var line bytes.Buffer
	if json.Compact(&line, b) != nil {
		return ""
	}
	text := line.String()
	if len(text) > maxBytes {
		text = strings.ToValidUTF8(text[:maxBytes], "") + "…"
	}
	return text
}
