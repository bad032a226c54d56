package web

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.uber.org/zap"

	"nanobot/channels/web/history"
	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// openAPI is the description of the API that clients can fetch.
//
//go:embed openapi.json
var openAPI []byte

const (
	// maxChats and maxMessages bound one response.
	maxChats        = 500
	maxMessages     = 200
	defaultMessages = 50
	// maxOwnedChats is how many chats with messages a user may have. Messages are stored for 30
	// days, so a person would have to start more than 30 chats a day.
	maxOwnedChats = 1000
	// maxPageBytes is how many bytes of messages one response has, unless a single message is
	// longer. maxReadsPerUser is how many responses of one user may be in progress at the same
	// time, since a client that does not read them keeps them in our memory.
	maxPageBytes    = 2 << 20
	maxReadsPerUser = 8
	// unguessableLength is how long a chat's name must be so that nobody can guess it: names from
	// postChat have 26 characters, those of the page about 30. Only operators and their scripts may
	// start chats with shorter names.
	unguessableLength = 20
	// retryAfter is the value of the Retry-After header, in seconds.
	retryAfter = "5"
)

// chatPrefix separates web chats from those of other networks: a web user must not get at the
// folder of another network's chat by choosing its number as a name.
const chatPrefix = "web-"

var chatPattern = lazyregexp.New(`^` + chatPrefix + `[A-Za-z0-9_-]{1,60}$`)

// requestError is the response to a request that is not carried out.
type requestError struct {
	status int
	text   string // for authors of scripts, in English; "": key is for people
	key    words.Key
	values []any
}

func (p requestError) Error() string { return p.in(words.Words{}) }

// in returns the text of the response.
func (p requestError) in(w words.Words) string {
	if p.text != "" {
		return p.text
	}
	return w.Text(p.key, p.values...)
}

// shownError returns an error that the page shows.
func shownError(status int, key words.Key, values ...any) error {
	return requestError{status: status, key: key, values: values}
}

func badRequest(format string, args ...any) error {
	return requestError{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

// maxLanguage is the longest tag of a language, in bytes.
const maxLanguage = 35

// requestLanguage returns the language that a person's browser prefers; "": unknown.
func requestLanguage(r *http.Request) string {
	first, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
	tag, _, _ := strings.Cut(strings.TrimSpace(first), ";")
	if len(tag) > maxLanguage || strings.ContainsFunc(tag,
		func(c rune) bool { return c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		return ""
	}
	return tag
}

// SetWords sets the catalogue of the words that the channel adds to messages.
func (c *Channel) SetWords(w *words.Catalogue) { c.words = w }

// ShowDev adds the panel of page.DevFiles, which the caller serves. It must be called before the
// first request.
func (c *Channel) ShowDev() { c.documents.bot.Dev = true }

// Mount returns the page and the API. The caller mounts it behind authentication.
func (c *Channel) Mount() (pattern string, h http.Handler) {
	mux := http.NewServeMux()
	for pattern, f := range c.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w = &responseWriter{w, http.NewResponseController(w)}
			if err := f(w, r); err != nil {
				c.respondError(w, r, err)
			}
		})
	}
	return "/", mux
}

// routes returns all routes. Those of the API are described in openapi.json.
func (c *Channel) routes() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/chats":                c.getChats,
		"POST /api/chats":               c.postChat,
		"PATCH /api/chats/{id}":         c.patchChat,
		"DELETE /api/chats/{id}":        c.deleteChat,
		"GET /api/chats/{id}/export":    c.getExport,
		"GET /api/search":               c.getSearch,
		"GET /api/chats/{id}/messages":  c.getMessages,
		"POST /api/chats/{id}/messages": c.postMessage,
		"POST /api/chats/{id}/press":    c.postPress,
		"GET /api/chats/{id}/menu":      c.getMenu,

		"PATCH /api/chats/{id}/messages/{message}": c.patchMessage,

		"GET /api/media/{id}":   c.getMedia,
		"GET /api/me":           c.getMe,
		"PATCH /api/me":         c.patchMe,
		"GET /api/push":         c.getPush,
		"POST /api/push":        c.postPush,
		"DELETE /api/push":      c.deletePush,
		"GET /api/events":       c.getEvents,
		"GET /api/openapi.json": c.getOpenAPI,
		"GET /api/": func(http.ResponseWriter, *http.Request) error {
			return requestError{status: http.StatusNotFound, text: "There is no such part of the API."}
		},
		"GET /": c.getPage,
	}
}

// respondError writes an error response. It logs errors that are not the client's.
func (c *Channel) respondError(w http.ResponseWriter, r *http.Request, err error) {
	err = c.checkDamage(err)
	p := requestError{status: http.StatusServiceUnavailable, key: words.PageFailed}
	switch {
	case errors.As(err, &p):
	case errors.Is(err, history.ErrNotOwner):
		p = requestError{status: http.StatusNotFound, key: words.PageNoChat}
	case errors.Is(err, history.ErrDeleted):
		p = requestError{status: http.StatusGone, key: words.PageChatDeleted}
	case errors.Is(err, history.ErrNoMessage):
		p = requestError{status: http.StatusNotFound, key: words.PageNotLast}
	case errors.Is(err, history.ErrNotLast):
		p = requestError{status: http.StatusConflict, key: words.PageNotLast}
	case errors.Is(err, history.ErrEmpty):
		p = requestError{status: http.StatusBadRequest, key: words.PageEmptyMessage}
	case errors.Is(err, history.ErrNoButton):
		p = requestError{status: http.StatusNotFound, key: words.PageNoButton}
	case errors.Is(err, history.ErrAlreadyPressed):
		p = requestError{status: http.StatusConflict, key: words.QuestionClosed}
	case errors.Is(err, history.ErrNameTaken):
		p = requestError{status: http.StatusConflict, key: words.PageNameTaken}
	case errors.Is(err, history.ErrTooManyChats):
		p = requestError{status: http.StatusForbidden, key: words.PageTooManyChats, values: []any{maxOwnedChats}}
	case errors.Is(err, history.ErrTooManyWaiting):
		p = requestError{status: http.StatusTooManyRequests, key: words.PageTooManyWaiting}
	case r.Context().Err() != nil: // nobody waits for the answer
	case errors.Is(err, history.ErrClosed): // the end
	default:
		c.log.Error("request failed", zap.String("path", r.URL.Path), zap.Error(err))
	}
	if p.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeJSON(w, p.status, map[string]string{"error": p.in(c.words.For(requestLanguage(r)))})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(toJSON(v), '\n')) // the client may have disconnected
}

// requester returns the user of a request.
func (c *Channel) requester(r *http.Request) history.Actor {
	user, operator := c.o.Requester(r)
	return history.Actor{User: user, All: operator}
}

// requestedChat returns the chat that a request names. A chat that does not exist yet may be
// started by any user if its name cannot be guessed. Otherwise only operators may start it:
// somebody could guess the name that a script is about to use, and then read that chat.
func (c *Channel) requestedChat(r *http.Request) (*history.History, string, error) {
	id := r.PathValue("id")
	if !chatPattern().MatchString(id) {
		return nil, "", shownError(http.StatusNotFound, words.PageNoChat)
	}
	h, err := c.openHistory()
	if err != nil {
		return nil, "", err
	}
	ok, err := h.CanUse(r.Context(), c.requester(r), id, len(id) >= len(chatPrefix)+unguessableLength)
	if err == nil && !ok {
		err = shownError(http.StatusNotFound, words.PageNoChat)
	}
	return h, id, err
}

func (c *Channel) getChats(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	chats, err := h.Chats(r.Context(), c.requester(r), maxChats)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, chats)
	return nil
}

// postChat returns the name of a new chat. Nothing is stored before the first message.
func (c *Channel) postChat(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusCreated, map[string]string{"id": chatPrefix + strings.ToLower(newID())})
	return nil
}

// messagePage is a part of a chat's messages, oldest first.
type messagePage struct {
	Messages []json.RawMessage `json:"messages"`
	More     bool              `json:"more"` // there are older messages; with after, newer ones
}

func (c *Channel) getMessages(w http.ResponseWriter, r *http.Request) error {
	h, id, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	name := "reads " + c.requester(r).User
	if !c.inFlight.tryAdd(name, maxReadsPerUser) {
		return shownError(http.StatusTooManyRequests, words.PageTooManyRequests)
	}
	defer c.inFlight.remove(name)
	events, more, backwards, err := readMessages(h, id, r)
	if err != nil {
		return err
	}
	m := messagePage{[]json.RawMessage{}, more}
	size := 0
	for _, e := range events {
		one := toJSON(c.toMessage(e))
		if size += len(one); size > maxPageBytes && len(m.Messages) > 0 {
			m.More = true
			break
		}
		m.Messages = append(m.Messages, one)
	}
	if backwards {
		slices.Reverse(m.Messages)
	}
	writeJSON(w, http.StatusOK, m)
	return nil
}

// readMessages returns the messages that a request wants, those next to its number first: forwards
// after one, else backwards before one or from the newest.
func readMessages(h *history.History, chat string, r *http.Request) (
	events []history.Event, more, backwards bool, err error,
) {
	values := map[string]int64{"before": 0, "after": -1, "limit": defaultMessages}
	for name, otherwise := range values {
		if values[name], err = intParameter(r, name, otherwise); err != nil {
			return nil, false, false, err
		}
	}
	limit := int(min(max(values["limit"], 1), maxMessages))
	if after := values["after"]; after >= 0 {
		events, more, err = h.MessagesAfter(r.Context(), chat, after, limit)
		return events, more, false, err
	}
	events, more, err = h.Messages(r.Context(), chat, values["before"], limit)
	slices.Reverse(events)
	return events, more, true, err
}

// intParameter parses a query parameter.
func intParameter(r *http.Request, name string, otherwise int64) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, badRequest("%s: must be a number.", name)
	}
	return n, nil
}

func (c *Channel) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPI)
	return err
}
