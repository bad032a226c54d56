package telegramtest

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"nanobot/channels/channelstest/fakenet"
)

// apiError is an error response of the Bot API.
type apiError struct {
	status     int
	text       string
	retryAfter int
	migrateTo  int64
	violation  bool // a correct bot never gets this error
}

func (r *apiError) Error() string { return r.text }

// expectedError returns an error that a correct bot may get.
func expectedError(format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, text: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// violationError returns an error that a correct bot never gets.
func violationError(format string, args ...any) error {
	return &apiError{status: http.StatusBadRequest, text: "Bad Request: " + fmt.Sprintf(format, args...), violation: true}
}

var notFound = &apiError{status: http.StatusNotFound, text: "Not Found"}

var tokenPattern = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// serve serves /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, download := strings.CutPrefix(r.URL.Path, "/file")
	token, rest, ok := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	switch {
	case !ok || !strings.HasPrefix(path, "/bot") || !tokenPattern.MatchString(token):
		writeAnswer(w, nil, notFound)
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1:
		writeAnswer(w, nil, &apiError{status: http.StatusUnauthorized, text: "Unauthorized"})
	case download:
		s.download(w, r, rest)
	default:
		s.serveMethod(w, r, rest)
	}
}

// serveMethod serves one call.
func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, name string) {
	c, err := s.readRequest(w, r, name)
	s.ServeCall(w, r, c, fakenet.Response{
		CarryOut: func() (any, error) {
			if err != nil {
				return nil, err
			}
			return s.execute(r.Context(), c)
		},
		Begin: func(_ any, err error) int { return s.recordOutcome(c, err) },
		Write: func(_ int, result any, err error) { writeAnswer(w, result, err) },
	})
}

// execute checks the parameters of a call and carries it out.
func (s *Server) execute(ctx context.Context, c *Call) (any, error) {
	m, ok := methods[c.Method]
	s.Lock()
	old := s.settings.unknownMethods[c.Method]
	s.Unlock()
	if !ok || old {
		return nil, &apiError{status: http.StatusNotFound, text: "Not Found: method not found", violation: !ok}
	}
	ignored, err := m.checkParams(c)
	s.Lock()
	for _, v := range ignored {
		s.AddViolation("%s: %s", c.Method, v)
	}
	s.Unlock()
	if err != nil {
		return nil, err
	}
	s.Lock()
	err = s.countCall(c)
	s.Unlock()
	if err != nil {
		return nil, err
	}
	if m.handleSlow != nil {
		return m.handleSlow(s, ctx, c)
	}
	s.Lock()
	defer s.Unlock()
	defer s.Broadcast()
	result, err := m.handle(s, c)
	return encode(result), err // with the lock held, because other calls may change the result later
}

// recordOutcome returns the status of the response, and records the error and violations.
func (s *Server) recordOutcome(c *Call, err error) int {
	var no *apiError
	if !errors.As(err, &no) {
		return http.StatusOK
	}
	s.Update(func() {
		if c.Description = no.text; no.violation {
			s.AddViolation("%s: %s (%s)", c.Method, no.text, c.describe())
		}
	})
	return no.status
}

// describe describes a call for a violation.
func (c *Call) describe() string {
	text := c.Params["text"] + c.Params["caption"]
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return fmt.Sprintf("call %d, chat %s, %q", c.ID, c.Params["chat_id"], text)
}

// writeAnswer writes a response in the envelope of the Bot API.
func writeAnswer(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	var no *apiError
	if !errors.As(err, &no) {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	body := map[string]any{"ok": false, "error_code": no.status, "description": no.text}
	if no.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(no.retryAfter))
		body["parameters"] = map[string]any{"retry_after": no.retryAfter}
	}
	if no.migrateTo != 0 {
		body["parameters"] = map[string]any{"migrate_to_chat_id": no.migrateTo}
	}
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(body)
}
