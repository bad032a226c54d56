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

	"nanobot/channels/channelstest/fakenet"
)

// apiError is an error response of Discord.
type apiError struct {
	status, code int
	text         string
	field, kind  string // the path of the wrong field, such as components.0.components, and Discord's code for the mistake
	retry        time.Duration
	global       bool
	scope        string
	violation    bool // a correct bot never gets this error
}

func (r *apiError) Error() string {
	if r.field != "" {
		return r.field + ": " + r.text
	}
	return r.text
}

// expectedError returns an error that a correct bot may get.
func expectedError(status, code int, text string) *apiError {
	return &apiError{status: status, code: code, text: text}
}

// violationError returns an error that a correct bot never gets.
func violationError(status, code int, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, text: fmt.Sprintf(format, args...), violation: true}
}

// fieldError returns the error of a wrong field of the body.
func fieldError(field, kind, format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, code: 50035, violation: true,
		field: field, kind: kind, text: fmt.Sprintf(format, args...),
	}
}

var (
	unknownChannel = expectedError(http.StatusNotFound, 10003, "Unknown Channel")
	unknownMessage = expectedError(http.StatusNotFound, 10008, "Unknown Message")
	missingAccess  = expectedError(http.StatusForbidden, 50001, "Missing Access")
	unauthorized   = expectedError(http.StatusUnauthorized, 0, "401: Unauthorized")
)

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// serveCall serves one call of a route.
func (s *Server) serveCall(w http.ResponseWriter, r *http.Request, route string, m method) {
	c := &Call{Route: route, Args: map[string]string{}, Query: r.URL.Query()}
	for _, name := range wildcard.FindAllStringSubmatch(route, -1) {
		c.Args[name[1]] = r.PathValue(name[1])
	}
	err := s.readRequest(c, r)
	if limited := s.countCall(w.Header(), c); limited != nil {
		err = limited
	}
	s.ServeCall(w, r, c, fakenet.Response{
		CarryOut: func() (any, error) {
			if err != nil {
				return nil, err
			}
			return s.execute(c, m)
		},
		Begin: func(result any, err error) int { return s.recordOutcome(c, m, result, err) },
		Write: func(status int, result any, err error) { writeResponse(w, status, result, err) },
	})
}

// execute checks the token and the names of a call, and carries it out.
func (s *Server) execute(c *Call, m method) (any, error) {
	if token, ok := strings.CutPrefix(c.auth, "Bot "); !m.noToken &&
		(!ok || subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) != 1) {
		return nil, unauthorized
	}
	s.Lock()
	defer s.Unlock()
	defer s.Broadcast()
	if !strings.HasPrefix(c.agent, "DiscordBot (") {
		s.AddViolation("%s: the User-Agent is %q and has to begin with DiscordBot (", c.Route, c.agent)
	}
	s.checkFieldNames(c, m)
	result, err := m.handle(s, c)
	if err != nil || result == nil {
		return nil, err
	}
	return encode(result), nil // with the lock held, because other calls may change the result later
}

// recordOutcome returns the status of the response, and counts invalid requests and violations.
func (s *Server) recordOutcome(c *Call, m method, result any, err error) int {
	var apiErr *apiError
	switch {
	case !errors.As(err, &apiErr) && m.created:
		return http.StatusCreated
	case apiErr == nil && result == nil:
		return http.StatusNoContent
	case apiErr == nil:
		return http.StatusOK
	}
	s.Update(func() {
		c.Code = apiErr.code
		counted := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
		if slices.Contains(counted, apiErr.status) && apiErr.scope != "shared" {
			s.invalidRequests++
		}
		if apiErr.violation {
			s.AddViolation("%s: %v (call %d: %.200s)", c.Route, apiErr, c.ID, c.Body)
		}
	})
	return apiErr.status
}

// writeResponse writes the response of a call.
func writeResponse(w http.ResponseWriter, status int, result any, err error) {
	var apiErr *apiError
	if !errors.As(err, &apiErr) {
		body, _ := result.(json.RawMessage)
		if body != nil {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	}
	body := map[string]any{"message": apiErr.text, "code": apiErr.code}
	if apiErr.field != "" {
		body["message"], body["errors"] = "Invalid Form Body", apiErr.nestedErrors()
	}
	if apiErr.status == http.StatusTooManyRequests {
		body["retry_after"], body["global"] = apiErr.retry.Seconds(), apiErr.global
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(apiErr.retry.Seconds()))))
		w.Header().Set("X-RateLimit-Scope", apiErr.scope)
		w.Header().Set("X-RateLimit-Reset-After", formatSeconds(apiErr.retry))
		w.Header().Set("X-RateLimit-Remaining", "0")
		if apiErr.global {
			w.Header().Set("X-RateLimit-Global", "true")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(apiErr.status)
	_, _ = w.Write(encode(body))
}

// nestedErrors returns the error of a field in Discord's nested form.
func (r *apiError) nestedErrors() any {
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
