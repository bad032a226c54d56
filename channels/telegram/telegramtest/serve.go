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
	"time"
)

// refusal is an error of the Bot API.
type refusal struct {
	status     int
	text       string
	retryAfter int
	migrateTo  int64
	violation  bool // no right bot gets to see it
}

func (r *refusal) Error() string { return r.text }

// refuse is a refusal that a right bot may run into.
func refuse(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, text: "Bad Request: " + fmt.Sprintf(format, args...)}
}

// forbid is a refusal that no right bot gets to see.
func forbid(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, text: "Bad Request: " + fmt.Sprintf(format, args...), violation: true}
}

var wellFormed = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// serve answers /bot<token>/<method> and /file/bot<token>/<path>.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	path, download := strings.CutPrefix(r.URL.Path, "/file")
	token, rest, ok := strings.Cut(strings.TrimPrefix(path, "/bot"), "/")
	switch {
	case !ok || !strings.HasPrefix(path, "/bot") || !wellFormed.MatchString(token):
		answer(w, nil, &refusal{status: http.StatusNotFound, text: "Not Found"})
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1:
		answer(w, nil, &refusal{status: http.StatusUnauthorized, text: "Unauthorized"})
	case download:
		s.download(w, r, rest)
	default:
		s.method(w, r, rest)
	}
}

// method answers one call, unless a fault has it otherwise.
func (s *Server) method(w http.ResponseWriter, r *http.Request, name string) {
	c, err := s.read(w, r, name)
	s.record(c)
	f := s.nextFault(c)
	s.before(r.Context(), f, c)
	if f.Status != 0 && !f.CarryOut {
		s.finish(c, f.Status, f.Description)
		f.write(w)
		return
	}
	var result any
	if err == nil {
		result, err = s.run(r.Context(), c)
	}
	if r.Context().Err() != nil {
		s.abort(c)
	}
	s.linger(r.Context(), f)
	if f.CutAfter {
		s.abort(c)
	}
	status, text := s.judge(c, err)
	if f.Status != 0 && err == nil {
		s.finish(c, f.Status, f.Description)
		f.write(w)
		return
	}
	s.finish(c, status, text)
	if f.Body != "" {
		_, _ = w.Write([]byte(f.Body))
		return
	}
	answer(w, result, err)
}

// run checks a call against its method's parameters and does it.
func (s *Server) run(ctx context.Context, c *Call) (any, error) {
	m, ok := methods[c.Method]
	if !ok {
		return nil, &refusal{status: http.StatusNotFound, text: "Not Found: method not found", violation: true}
	}
	strange, err := m.check(c)
	for _, v := range strange {
		s.violate(c.Method + ": " + v)
	}
	if err != nil {
		return nil, err
	}
	if m.wait != nil {
		return m.wait(s, ctx, c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	result, err := m.do(s, c)
	return encode(result), err // now, because others may change it once the lock is gone
}

// judge notes violations and says what an answer's status is.
func (s *Server) judge(c *Call, err error) (int, string) {
	var no *refusal
	if !errors.As(err, &no) {
		return http.StatusOK, ""
	}
	if no.violation {
		s.violate(fmt.Sprintf("%s: %s (%s)", c.Method, no.text, c.short()))
	}
	return no.status, no.text
}

// short is what helps to find a call again.
func (c *Call) short() string {
	text := c.Params["text"] + c.Params["caption"]
	if r := []rune(text); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return fmt.Sprintf("call %d, chat %s, %q", c.ID, c.Params["chat_id"], text)
}

func (s *Server) record(c *Call) {
	s.update(func() {
		s.calls = append(s.calls, c)
		c.ID, c.At = len(s.calls), time.Now()
	})
}

func (s *Server) finish(c *Call, status int, text string) {
	s.update(func() { c.Done, c.Status, c.Description = true, status, text })
}

// abort cuts the connection.
func (s *Server) abort(c *Call) {
	s.finish(c, 0, "connection cut")
	panic(http.ErrAbortHandler)
}

// answer writes the Bot API's envelope.
func answer(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	var no *refusal
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
