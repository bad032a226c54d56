package discordtest

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// refusal is an error of Discord's.
type refusal struct {
	status, code int
	text         string
	field, kind  string // what of the body is wrong, such as components.0.components, and Discord's name for it
	body         string // in place of JSON
	retry        time.Duration
	global       bool
	scope        string
	violation    bool // no right bot gets to see it
}

func (r *refusal) Error() string {
	if r.field != "" {
		return r.field + ": " + r.text
	}
	return r.text
}

// refuse is a refusal that a right bot may run into.
func refuse(status, code int, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

// forbid is a refusal that no right bot gets to see.
func forbid(status, code int, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, text: fmt.Sprintf(format, args...), violation: true}
}

// malformed is the refusal of a field of the body.
func malformed(field, kind, format string, args ...any) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: 50035, violation: true,
		field: field, kind: kind, text: fmt.Sprintf(format, args...),
	}
}

var (
	unknownChannel = refuse(http.StatusNotFound, 10003, "Unknown Channel")
	unknownMessage = refuse(http.StatusNotFound, 10008, "Unknown Message")
	missingAccess  = refuse(http.StatusForbidden, 50001, "Missing Access")
	unauthorized   = refuse(http.StatusUnauthorized, 0, "401: Unauthorized")
)

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// serve answers one call of a route, unless a fault has it otherwise.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, route string, m method) {
	c := &Call{Route: route, Args: map[string]string{}, Query: r.URL.Query()}
	for _, name := range wildcard.FindAllStringSubmatch(route, -1) {
		c.Args[name[1]] = r.PathValue(name[1])
	}
	err := s.read(c, r)
	s.update(func() {
		s.calls = append(s.calls, c)
		c.ID, c.At = len(s.calls), time.Now()
	})
	f := s.nextFault(c)
	s.before(r, f, c)
	if limited := s.take(w.Header(), c); limited != nil {
		err = limited
	}
	if f.Status != 0 {
		err = f.refusal()
	}
	var result json.RawMessage
	if err == nil {
		result, err = s.run(c, m)
	}
	status := s.judge(c, m, result, err)
	s.after(r, f, c)
	s.update(func() { c.Done, c.Status = true, status })
	if f.Body != "" && f.Status == 0 {
		_, _ = w.Write([]byte(f.Body))
		return
	}
	write(w, status, result, err)
}

// run checks who calls and what, and does it.
func (s *Server) run(c *Call, m method) (json.RawMessage, error) {
	if token, ok := strings.CutPrefix(c.auth, "Bot "); !m.open &&
		(!ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1) {
		return nil, unauthorized
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.more.Broadcast()
	if !strings.HasPrefix(c.agent, "DiscordBot (") {
		s.violate("%s: the User-Agent is %q and has to begin with DiscordBot (", c.Route, c.agent)
	}
	s.checkNames(c, m)
	result, err := m.do(s, c)
	if err != nil || result == nil {
		return nil, err
	}
	return encode(result), nil // now, because others may change it once the lock is gone
}

// judge says what an answer's status is and keeps score of refusals.
func (s *Server) judge(c *Call, m method, result json.RawMessage, err error) int {
	var no *refusal
	switch {
	case !errors.As(err, &no) && m.created:
		return http.StatusCreated
	case no == nil && result == nil:
		return http.StatusNoContent
	case no == nil:
		return http.StatusOK
	}
	s.update(func() {
		c.Code = no.code
		counted := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
		if slices.Contains(counted, no.status) && no.scope != "shared" {
			s.invalid++
		}
		if no.violation {
			s.violate("%s: %v (call %d: %.200s)", c.Route, no, c.ID, c.Body)
		}
	})
	return no.status
}

// violate notes what no right bot does. The lock is held.
func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// write answers a call.
func write(w http.ResponseWriter, status int, result json.RawMessage, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		if result != nil {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(result)
		return
	}
	if no.body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(no.status)
		_, _ = w.Write([]byte(no.body))
		return
	}
	body := map[string]any{"message": no.text, "code": no.code}
	if no.field != "" {
		body["message"], body["errors"] = "Invalid Form Body", no.tree()
	}
	if no.status == http.StatusTooManyRequests {
		body["retry_after"], body["global"] = no.retry.Seconds(), no.global
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(no.retry.Seconds()))))
		w.Header().Set("X-RateLimit-Scope", no.scope)
		w.Header().Set("X-RateLimit-Reset-After", seconds(no.retry))
		w.Header().Set("X-RateLimit-Remaining", "0")
		if no.global {
			w.Header().Set("X-RateLimit-Global", "true")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(no.status)
	_, _ = w.Write(encode(body))
}

// tree is a field's error in the nested form that Discord gives it.
func (r *refusal) tree() any {
	tree := any(map[string]any{"_errors": []any{map[string]any{"code": r.kind, "message": r.text}}})
	path := strings.Split(r.field, ".")
	for i := range path {
		tree = map[string]any{path[len(path)-1-i]: tree}
	}
	return tree
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always encode
	}
	return b
}
