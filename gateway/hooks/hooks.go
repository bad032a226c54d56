// Package hooks serves POST /hooks/NAME: it authenticates a call, makes a text of its body and
// hands it over. It does not know how a message is stored, sent or given to an agent.
package hooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"nanobot/channels"
	"nanobot/config"
)

const (
	// MaxWaiting is how many messages of a hook may wait.
	MaxWaiting = 1000
	// callBurst and callRate limit the calls of a hook.
	callBurst = 100
	callRate  = 10 // a second
	// bodyTimeout bounds the reading of a body.
	bodyTimeout = 30 * time.Second
	// maxText bounds the text of a message, in bytes; maxShownBody a body that a chat is shown.
	maxText      = 64 << 10
	maxShownBody = 3000
	// maxIndented is the deepest JSON that is indented: a body of a thousand levels would need a
	// thousand times its size.
	maxIndented = 32
	// maxKey bounds an idempotency key; a longer one is hashed.
	maxKey = 200
)

// Hook is the settings of a hook.
type Hook struct {
	Auth     Auth
	Secret   config.Secret // the value, not a reference
	Header   string        // of HMAC
	Chat     channels.Chat
	Agent    string    // "": the text is sent to the chat
	Template *Template // nil: the body in a block of code
	MaxBody  int64     // in bytes
}

// Message is what a call says.
type Message struct {
	Hook  string
	Chat  channels.Chat
	Agent string // "": Text is sent to the chat
	Text  string // Markdown; blank only if the body is blank and the hook has no template
	Key   string // identifies the call among those of the hook; "": unknown
	// FailedLine is the line at which the template has failed. Text is the body then, for the chat
	// and not for an agent. "": it has not failed.
	FailedLine string
}

// The reasons for which a message is not accepted for now. A call gets 429 for ErrFull and 503 for
// any other error.
var (
	ErrFull    = errors.New("too many messages of this hook wait already")
	ErrStopped = errors.New("the gateway is not running")
)

// Options configures a Handler.
type Options struct {
	Hooks func() map[string]Hook // the current settings, by name
	// Accept stores a message. When it returns nil, the message is on disk.
	Accept func(context.Context, Message) (duplicate bool, err error)
	// Count, if not nil, counts a call by hook and status: that of HTTP, or Silent. The hook is ""
	// if there is none of this name.
	Count func(hook, status string)
	Log   *zap.Logger
}

// Silent is the status of a call whose template makes no text, so that nothing is sent.
const Silent = "silent"

// Handler serves POST /hooks/NAME.
type Handler struct {
	o        Options
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
}

// New returns a handler.
func New(o Options) *Handler { return &Handler{o: o, limiters: map[string]*rate.Limiter{}} }

// Path is the path that the names of hooks follow.
const Path = "/hooks/"

// ServeHTTP answers a call: 202 once its message is on disk, 200 if it was known before.
func (s *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Path)
	h, ok := s.o.Hooks()[name]
	var a answer
	if ok {
		a = s.serve(w, r, name, h)
	} else {
		// Calls of unknown names take as long as those with a wrong token.
		_ = Hook{Auth: Bearer}.proves(Hook{Auth: Bearer}.readCredentials(r.Header), nil, time.Now())
		name, a = "", notFound
	}
	if s.o.Count != nil {
		s.o.Count(name, cmp.Or(a.counted, strconv.Itoa(a.status)))
	}
	if a.status >= http.StatusBadRequest {
		w.Header().Set("Connection", "close") // otherwise the server would read the body to reuse the connection
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, http.StatusText(a.status)+"\n") // the client may have disconnected
}

// answer is a response. Its text is that of the status.
type answer struct {
	status  int
	counted string // the status for Options.Count; "": that of HTTP
}

var (
	notFound     = answer{status: http.StatusNotFound}
	unauthorized = answer{status: http.StatusUnauthorized}
	tooBig       = answer{status: http.StatusRequestEntityTooLarge}
	silent       = answer{status: http.StatusAccepted, counted: Silent}
)

// serve carries out the call of a hook. It may set headers of the response.
func (s *Handler) serve(w http.ResponseWriter, r *http.Request, name string, h Hook) answer {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return answer{status: http.StatusMethodNotAllowed}
	}
	proof := h.readCredentials(r.Header)
	if len(proof.proofs) == 0 || h.Auth == Bearer && !h.proves(proof, nil, time.Now()) {
		return unauthorized
	}
	if r.ContentLength > h.MaxBody {
		return tooBig
	}
	body, err := readBody(w, r, h.MaxBody)
	var overLimit *http.MaxBytesError
	switch {
	case errors.As(err, &overLimit):
		return tooBig
	case err != nil:
		return answer{status: http.StatusBadRequest}
	case !h.proves(proof, body, time.Now()):
		return unauthorized
	}
	if !s.allow(name) {
		w.Header().Set("Retry-After", "1")
		return answer{status: http.StatusTooManyRequests}
	}
	m, err := h.message(name, r, body)
	if err != nil {
		s.o.Log.Warn("the template of a hook has failed", zap.String("hook", name), zap.Error(err))
	}
	if strings.TrimSpace(m.Text) == "" && h.Template != nil && m.FailedLine == "" {
		return silent
	}
	return s.accept(r.Context(), w, m)
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	conn := http.NewResponseController(w)
	// not supported by all writers; then the server's own timeout applies
	_ = conn.SetReadDeadline(time.Now().Add(bodyTimeout))
	defer func() { _ = conn.SetReadDeadline(time.Time{}) }()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

// allow reports whether a call of a hook is within the limit.
func (s *Handler) allow(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	limiter := s.limiters[name]
	if limiter == nil {
		limiter = rate.NewLimiter(callRate, callBurst)
		s.limiters[name] = limiter
	}
	return limiter.Allow()
}

// accept hands a message over.
func (s *Handler) accept(ctx context.Context, w http.ResponseWriter, m Message) answer {
	duplicate, err := s.o.Accept(ctx, m)
	switch {
	case errors.Is(err, ErrFull):
		w.Header().Set("Retry-After", "10")
		return answer{status: http.StatusTooManyRequests}
	case err != nil:
		if !errors.Is(err, ErrStopped) && ctx.Err() == nil {
			s.o.Log.Error("the call of a hook was not accepted", zap.String("hook", m.Hook), zap.Error(err))
		}
		w.Header().Set("Retry-After", "1")
		return answer{status: http.StatusServiceUnavailable}
	case duplicate:
		return answer{status: http.StatusOK}
	}
	return answer{status: http.StatusAccepted}
}

// message makes the message of an authenticated call. The error says why the template has failed;
// the message has the body then.
func (h Hook) message(name string, r *http.Request, body []byte) (m Message, err error) {
	m = Message{Hook: name, Chat: h.Chat, Agent: h.Agent, Key: keyOf(r.Header)}
	if h.Template != nil {
		if m.Text, err = h.Template.execute(r, body, maxText); err == nil {
			return m, nil
		}
		m.Agent, m.FailedLine = "", lineOf(err)
	}
	limit := maxShownBody
	if m.Agent != "" {
		limit = maxText
	}
	m.Text = codeBlock(body, limit)
	return m, err
}

// keyOf returns the idempotency key of a call, or "".
func keyOf(header http.Header) string {
	key := cmp.Or(header.Get("Idempotency-Key"), header.Get("X-GitHub-Delivery"))
	if len(key) > maxKey {
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:])
	}
	return key
}

// codeBlock returns a body in a block of code, shortened to a number of bytes. JSON is indented.
func codeBlock(body []byte, limit int) string {
	text, language := strings.ToValidUTF8(string(body), "\ufffd"), ""
	var indented bytes.Buffer
	if depthOf(body) <= maxIndented && json.Indent(&indented, body, "", "  ") == nil {
		text, language = indented.String(), "json"
	}
	if text = cutText(strings.TrimSpace(text), limit); text == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence
}

// depthOf returns how deep the lists and objects of JSON are nested.
func depthOf(body []byte) (deepest int) {
	depth, quoted, escaped := 0, false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
