// Package fast is a Bot API server for measurements, in a process of its own. It responds to every
// call at once, checks nothing, and stores only updates that are not confirmed and who waits for an
// answer. Package telegramtest has the server that checks calls.
package fast

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answerTimeout is how long a person waits for an answer before the load fails.
const answerTimeout = time.Minute

// Load is what people write to the bot.
type Load struct {
	// Chats is the number of private chats, whose IDs begin with First. Each of the People writes
	// in one of them after the other, and again when the answer has arrived, after Rest.
	First         int64
	Chats, People int
	Turns         int // in all
	Rest          time.Duration
	Text, Answer  string // what people write, and what the text of an answer contains
}

// Result is how a load went.
type Result struct {
	Took time.Duration
	// Latencies are the times from an update's being available to getUpdates until the call that
	// sends the answer has arrived.
	Latencies []time.Duration
	Error     string // "": all messages were answered
}

// server is the state of the process.
type server struct {
	mu          sync.Mutex
	updates     []update // not confirmed
	more        chan struct{}
	lastUpdate  int64
	lastMessage int64
	waiting     map[int64]waiter // by chat
	firstPoll   time.Time        // since forgetPolls
	polled      chan struct{}    // closed at firstPoll
	lastText    string           // that was sent, for errors
}

type update struct {
	id   int64
	body []byte
}

type waiter struct {
	text     string
	answered chan time.Time
}

// Main prints the server's URL on out and serves until in ends.
func Main(in io.Reader, out io.Writer) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	s := &server{more: make(chan struct{}), polled: make(chan struct{}), waiting: map[int64]waiter{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /load", s.load)
	mux.HandleFunc("POST /forget", s.forgetPolls)
	mux.HandleFunc("POST /polled", s.awaitPoll)
	mux.HandleFunc("/{bot}/{method}", s.call)
	fmt.Fprintf(out, "http://%s\n", l.Addr())
	server := http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(l) })
	_, _ = io.Copy(io.Discard, in)
	_ = server.Close()
	work.Wait()
	return 0
}

// call responds to a call of the Bot API.
func (s *server) call(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	result := "true"
	switch method := r.PathValue("method"); {
	case method == "getUpdates":
		result = s.getUpdates(r, now)
	case method == "getMe":
		result = `{"id":110201543,"is_bot":true,"first_name":"Fast","username":"fast_test_bot","can_read_all_group_messages":true}`
	case method == "getWebhookInfo":
		result = `{"url":"","has_custom_certificate":false,"pending_update_count":0}`
	case method == "getChat":
		result = `{"id":` + r.FormValue("chat_id") + `,"type":"private","first_name":"Fast","accent_color_id":0,"max_reaction_count":11}`
	case strings.HasPrefix(method, "getMy"):
		result = "[]"
	case strings.HasSuffix(method, "Draft") || method == "sendChatAction":
	case strings.HasPrefix(method, "send") || strings.HasPrefix(method, "edit"):
		result = s.message(r, method, now)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true,"result":`+result+`}`)
}

// message responds to a call that sends or edits a message, and passes an answer to the person who
// waits for it.
func (s *server) message(r *http.Request, method string, now time.Time) string {
	chat, _ := strconv.ParseInt(r.FormValue("chat_id"), 10, 64)
	text := r.FormValue("text") + r.FormValue("caption") + r.FormValue("rich_message")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastMessage++
	s.lastText = text
	if who, ok := s.waiting[chat]; ok && strings.HasPrefix(method, "send") && strings.Contains(text, who.text) {
		delete(s.waiting, chat)
		who.answered <- now
	}
	return fmt.Sprintf(`{"message_id":%d,"date":%d,"chat":{"id":%d,"type":"private"},"text":"x"}`, s.lastMessage, now.Unix(), chat)
}

// getUpdates confirms updates and waits for more.
func (s *server) getUpdates(r *http.Request, now time.Time) string {
	var params struct{ Offset, Timeout, Limit int64 }
	_ = json.NewDecoder(r.Body).Decode(&params)
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(params.Timeout)*time.Second)
	defer cancel()
	s.mu.Lock()
	if s.firstPoll.IsZero() {
		s.firstPoll = now
		close(s.polled)
	}
	s.updates = slices.DeleteFunc(s.updates, func(u update) bool { return u.id < params.Offset })
	for len(s.updates) == 0 && ctx.Err() == nil {
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	batch := []byte("[")
	for i, u := range s.updates[:min(len(s.updates), int(params.Limit))] {
		if i > 0 {
			batch = append(batch, ',')
		}
		batch = append(batch, u.body...)
	}
	s.mu.Unlock()
	return string(append(batch, ']'))
}

// forgetPolls makes the next getUpdates the first one.
func (s *server) forgetPolls(http.ResponseWriter, *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firstPoll, s.polled = time.Time{}, make(chan struct{})
}

// awaitPoll waits for the first getUpdates and responds with the time at which it arrived, in
// nanoseconds since 1970.
func (s *server) awaitPoll(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	polled := s.polled
	s.mu.Unlock()
	select {
	case <-polled:
	case <-r.Context().Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s.firstPoll.UnixNano())
}

// load lets people write, and responds when all have their answers.
func (s *server) load(w http.ResponseWriter, r *http.Request) {
	var l Load
	if err := json.NewDecoder(r.Body).Decode(&l); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var mu sync.Mutex
	result := Result{Latencies: make([]time.Duration, 0, l.Turns)}
	began := time.Now()
	var people sync.WaitGroup
	for person := range l.People {
		people.Go(func() {
			for n := person; n < l.Turns && r.Context().Err() == nil; n += l.People {
				took, err := s.ask(r.Context(), l.First+int64(n%l.Chats), l)
				mu.Lock()
				if result.Latencies = append(result.Latencies, took); err != nil {
					result.Error = err.Error()
				}
				mu.Unlock()
				if err != nil {
					return
				}
				time.Sleep(l.Rest)
			}
		})
	}
	people.Wait()
	result.Took = time.Since(began)
	_ = json.NewEncoder(w).Encode(result)
}

// ask writes a message in a chat and waits for its answer.
func (s *server) ask(ctx context.Context, chat int64, l Load) (time.Duration, error) {
	answered := make(chan time.Time, 1)
	s.mu.Lock()
	s.waiting[chat] = waiter{l.Answer, answered}
	s.lastUpdate++
	s.lastMessage++
	began := time.Now()
	s.updates = append(s.updates, update{s.lastUpdate, fmt.Appendf(nil,
		`{"update_id":%d,"message":{"message_id":%d,"date":%d,"text":%q,"chat":{"id":%d,"type":"private","first_name":"P"},`+
			`"from":{"id":%d,"is_bot":false,"first_name":"P","language_code":"en"}}}`,
		s.lastUpdate, s.lastMessage, began.Unix(), l.Text, chat, chat)})
	close(s.more)
	s.more = make(chan struct{})
	s.mu.Unlock()
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case at := <-answered:
		return at.Sub(began), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timeout.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		return 0, fmt.Errorf("chat %d has no answer; the last text that was sent is %q", chat, s.lastText)
	}
}
