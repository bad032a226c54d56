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

	"nanobot/channels/httpclient"
)

// refusal is an answer that says no.
type refusal struct {
	Name    string // of the request
	Status  int
	Code    int // Discord's; 0 when the answer is not Discord's
	Message string
	Details string // what is wrong with which field, as JSON
	After   time.Duration
	Shared  bool // somebody else has used up what we share
	Global  bool // it holds for all calls
	Foreign bool // the answer is not Discord's but of something in front of it, such as a proxy
}

func (e *refusal) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.Name, e.Status, e.Message)
	if e.Code != 0 {
		text += fmt.Sprintf(" (%d)", e.Code)
	}
	if e.Details != "" {
		text += " " + e.Details
	}
	return text
}

// silence is a call without an answer.
type silence struct {
	Name    string
	Err     error
	Written bool // the whole request was on its way: it may have been carried out
}

func (e *silence) Error() string { return e.Name + ": " + e.Err.Error() }

func (e *silence) Unwrap() error { return e.Err }

var (
	// errForeign is the error of a good answer that cannot be Discord's.
	errForeign   = errors.New("the answer is not Discord's")
	errNoRequest = errors.New("the library made no request")
)

// refused makes an error of an answer that says no. One that is not JSON is a proxy's.
func (a *api) refused(got *record) error {
	var no struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		Errors     json.RawMessage `json:"errors"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
	}
	e := &refusal{Name: got.route.name, Status: got.Status, Foreign: true, Shared: got.Header.Get("X-RateLimit-Scope") == "shared"}
	if json.Unmarshal(got.Body, &no) == nil {
		e.Foreign, e.Global = false, no.Global
		e.Code, e.Message = no.Code, a.clean(no.Message)
		e.Details = a.clean(excerpt(no.Errors, 300))
		e.After = seconds(no.RetryAfter)
	}
	if e.Message == "" {
		e.Message = http.StatusText(got.Status)
	}
	if after, err := strconv.ParseFloat(got.Header.Get("Retry-After"), 64); err == nil {
		e.After = max(e.After, seconds(after))
	}
	if e.Status == http.StatusTooManyRequests {
		e.After = max(e.After, 100*time.Millisecond)
	}
	return e
}

// seconds is a time as Discord writes it. What is longer than a day is a mistake.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 86400) * float64(time.Second))
}

// excerpt is the beginning of some JSON, on one line.
func excerpt(b json.RawMessage, most int) string {
	var line bytes.Buffer
	if json.Compact(&line, b) != nil {
		return ""
	}
	text := line.String()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func (a *api) clean(text string) string { return strings.ReplaceAll(text, a.token, httpclient.Hidden) }
