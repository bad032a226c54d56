package web

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels/web/history"
)

// openAPI describes what is served.
//
//go:embed openapi.json
var openAPI []byte

const (
	// mostChats and mostMessages bound one answer.
	mostChats    = 500
	mostMessages = 200
	usual        = 50
	// mostPage is how many bytes of messages one answer has, unless a single one is longer;
	// mostReads is how many such answers one user may be sent at once: whoever reads none of them
	// keeps them in our memory.
	mostPage  = 2 << 20
	mostReads = 8
	// unguessable is how many characters of a chat's name nobody hits upon: postChat's have 26, the
	// page's about 30. Shorter names are for operators and their scripts.
	unguessable = 20
	// retryAfter is how many seconds whoever asks too much is to wait.
	retryAfter = "5"
)

// chatPrefix keeps chats apart from those of other networks, whose folders a web user must not get
// at by their number.
const chatPrefix = "web-"

var chatForm = regexp.MustCompile(`^` + chatPrefix + `[A-Za-z0-9_-]{1,60}$`)

// problem is why a request is not carried out, for whoever made it.
type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

func notFound(what string) error {
	return problem{http.StatusNotFound, "There is no such " + what + "."}
}

func wrong(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// Mount returns the page and the API. It is for those only who were let in.
func (c *Channel) Mount() (pattern string, h http.Handler) {
	mux := http.NewServeMux()
	for pattern, f := range c.routes() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w = &steady{w, http.NewResponseController(w)}
			if err := f(w, r); err != nil {
				c.fail(w, r, err)
			}
		})
	}
	return "/", mux
}

// routes is all that is served. The API's are in openapi.json.
func (c *Channel) routes() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/chats":                c.getChats,
		"POST /api/chats":               c.postChat,
		"GET /api/chats/{id}/messages":  c.getMessages,
		"POST /api/chats/{id}/messages": c.postMessage,
		"POST /api/chats/{id}/press":    c.postPress,
		"GET /api/media/{id}":           c.getMedia,
		"GET /api/events":               c.getEvents,
		"GET /api/openapi.json":         c.getOpenAPI,
		"GET /api/":                     func(http.ResponseWriter, *http.Request) error { return notFound("part of the API") },
		"GET /":                         getPage,
	}
}

// fail says what went wrong. What is our fault is said in the log.
func (c *Channel) fail(w http.ResponseWriter, r *http.Request, err error) {
	err = c.judge(err)
	p := problem{http.StatusServiceUnavailable, "This cannot be done just now. The bot's log has the reason."}
	switch {
	case errors.As(err, &p):
	case errors.Is(err, history.ErrForeign):
		p = problem{http.StatusNotFound, "There is no such chat."}
	case errors.Is(err, history.ErrNoButton):
		p = problem{http.StatusNotFound, "There is no such button any more."}
	case errors.Is(err, history.ErrPressed):
		p = problem{http.StatusConflict, "This was answered already."}
	case errors.Is(err, history.ErrCrowded):
		p = problem{http.StatusTooManyRequests, "Too many messages wait in this chat already."}
	case r.Context().Err() != nil: // nobody waits for the answer
	case errors.Is(err, history.ErrClosed): // the end
	default:
		c.log.Error("request failed", zap.String("path", r.URL.Path), zap.Error(err))
	}
	if p.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", retryAfter)
	}
	answer(w, p.status, map[string]string{"error": p.text})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(toJSON(v), '\n')) // whoever asked may be gone
}

// party is who makes a request.
func (c *Channel) party(r *http.Request) history.Party {
	who := c.o.Who(r)
	return history.Party{User: who.User, All: who.Operator}
}

// chat is the chat that a request is about. One that is not there yet is whose who can know its
// name: were it anybody's, the first to hit upon the name that a script is about to use would read
// what is said there.
func (c *Channel) chat(r *http.Request) (*history.History, string, error) {
	id := r.PathValue("id")
	if !chatForm.MatchString(id) {
		return nil, "", notFound("chat")
	}
	h, err := c.history()
	if err != nil {
		return nil, "", err
	}
	ok, err := h.May(r.Context(), c.party(r), id, len(id) >= len(chatPrefix)+unguessable)
	if err == nil && !ok {
		err = notFound("chat")
	}
	return h, id, err
}

// chatInfo is a chat as it is told to browsers and scripts.
type chatInfo struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Updated time.Time `json:"updated"`
}

func (c *Channel) getChats(w http.ResponseWriter, r *http.Request) error {
	h, err := c.history()
	if err != nil {
		return err
	}
	chats, err := h.Chats(r.Context(), c.party(r), mostChats)
	if err != nil {
		return err
	}
	infos := []chatInfo{}
	for _, k := range chats {
		infos = append(infos, chatInfo{k.ID, k.Title, k.Updated.UTC()})
	}
	answer(w, http.StatusOK, infos)
	return nil
}

// postChat gives a name to a chat. Nothing is kept of it before its first message.
func (c *Channel) postChat(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusCreated, map[string]string{"id": chatPrefix + strings.ToLower(newID())})
	return nil
}

// messages is a part of a chat, oldest first.
type messages struct {
	Messages []json.RawMessage `json:"messages"`
	More     bool              `json:"more"` // there are older ones
}

func (c *Channel) getMessages(w http.ResponseWriter, r *http.Request) error {
	h, id, err := c.chat(r)
	if err != nil {
		return err
	}
	name := "reads " + c.party(r).User
	if !c.coming.enter(name, mostReads) {
		return problem{http.StatusTooManyRequests, "Too much is being read for you already. Ask again later."}
	}
	defer c.coming.leave(name)
	before, err := number(r, "before", 0)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", usual)
	if err != nil {
		return err
	}
	events, more, err := h.Page(r.Context(), id, before, int(min(max(limit, 1), mostMessages)))
	if err != nil {
		return err
	}
	m := messages{[]json.RawMessage{}, more}
	size := 0
	for _, e := range slices.Backward(events) {
		one := toJSON(c.toMessage(e))
		if size += len(one); size > mostPage && len(m.Messages) > 0 {
			m.More = true
			break
		}
		m.Messages = append(m.Messages, one)
	}
	slices.Reverse(m.Messages)
	answer(w, http.StatusOK, m)
	return nil
}

// number reads a parameter of the address.
func number(r *http.Request, name string, otherwise int64) (int64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, wrong("%s: must be a number.", name)
	}
	return n, nil
}

func (c *Channel) getOpenAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPI)
	return err
}
