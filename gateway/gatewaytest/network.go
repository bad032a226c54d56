// Package gatewaytest is a chat network on loopback for tests of the gateway: a server that records
// all calls and can be told to fail, and the channel that talks to it. It does not know the
// gateway.
package gatewaytest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"nanobot/channels"
)

// Update is one message from a user. The network offers it until a later one is polled.
type Update struct {
	Seq   int    `json:"seq"`
	Chat  string `json:"chat"`
	ID    string `json:"id"`
	User  string `json:"user"`
	Text  string `json:"text"`
	Press string `json:"press,omitempty"`
	Reply string `json:"reply,omitempty"` // the ID of the message that it replies to
	// Language is the language of the user's app; "": unknown.
	Language string `json:"language,omitempty"`
}

// Call is one request of the channel, and the message that the network shows for it.
type Call struct {
	Chat    string            `json:"chat"`
	Key     string            `json:"key"`
	Kind    string            `json:"kind"`
	Text    string            `json:"text"`
	Files   map[string]string `json:"files,omitempty"` // content by name
	Buttons []string          `json:"buttons,omitempty"`
	Repeat  bool              `json:"repeat,omitempty"`
	ReplyTo string            `json:"reply_to,omitempty"`
	Sender  int               `json:"sender,omitempty"` // see Channel.Sender
	ID      string            `json:"id"`
	Details string            `json:"details,omitempty"`
	channels.Notification
}

// Fault is how the network handles one call.
type Fault struct {
	Status      int           // answer with this status and do nothing; 0: carry out the call
	RetryAfter  time.Duration // with status 429
	Disconnect  bool          // carry out the call, then cut the connection instead of answering
	HangUntil   chan struct{} // wait until this is closed before anything else
	DelayBefore time.Duration // wait this long before anything else
	DelayAfter  time.Duration // carry out the call, then wait this long before answering
}

// Network is the server. NewNetwork creates it.
type Network struct {
	// Languages are the languages of users, by their IDs.
	Languages map[string]string

	URL string
	// Idempotent says that the network carries out a key only once.
	Idempotent bool
	// Fault, if not nil, is called for every send, EditFault for every edit and replacement, and
	// RemoveFault for every removal.
	Fault, EditFault, RemoveFault func(c Call) Fault

	server       *httptest.Server
	mu           sync.Mutex
	changed      *sync.Cond
	offered      []Update
	sent         []Call
	keys         map[string]string
	removed      map[string]bool
	edits        int
	replacements int
	typing       int
	polls        int
	acknowledged int
}

// NewNetwork starts a network.
func NewNetwork() *Network {
	n := &Network{keys: map[string]string{}, removed: map[string]bool{}}
	n.changed = sync.NewCond(&n.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /updates", n.updates)
	mux.HandleFunc("POST /send", n.send)
	mux.HandleFunc("POST /edit", n.edit)
	mux.HandleFunc("POST /replace", n.replace)
	mux.HandleFunc("POST /remove", n.remove)
	mux.HandleFunc("POST /typing", func(http.ResponseWriter, *http.Request) { n.mu.Lock(); n.typing++; n.mu.Unlock() })
	n.server = httptest.NewServer(mux)
	n.URL = n.server.URL
	return n
}

// Close stops the network.
func (n *Network) Close() {
	n.server.CloseClientConnections()
	n.server.Close()
}

// UserWrites sends a message of a user. It returns the message's ID.
func (n *Network) UserWrites(chat, user, text string) string {
	return n.add(Update{Chat: chat, User: user, Text: text})
}

// UserReplies sends a user's reply to a message.
func (n *Network) UserReplies(chat, user, to, text string) string {
	return n.add(Update{Chat: chat, User: user, Text: text, Reply: to})
}

// UserPresses sends a user's press of a button.
func (n *Network) UserPresses(chat, user, data string) string {
	return n.add(Update{Chat: chat, User: user, Press: data})
}

// OfferAgain offers an update once more, as a network does when an acknowledgement was lost.
func (n *Network) OfferAgain(id string) {
	n.mu.Lock()
	at := slices.IndexFunc(n.offered, func(u Update) bool { return u.ID == id })
	u := n.offered[at]
	n.mu.Unlock()
	n.add(u)
}

// add offers an update. Without an ID it is a new message.
func (n *Network) add(u Update) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	u.Seq = len(n.offered) + 1
	u.ID = cmp.Or(u.ID, "m"+strconv.Itoa(u.Seq))
	u.Language = n.Languages[u.User]
	n.offered = append(n.offered, u)
	n.changed.Broadcast()
	return u.ID
}

// Sent returns the messages of a chat ("": of all chats) in order, without removed ones.
func (n *Network) Sent(chat string) []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shownCalls(chat)
}

func (n *Network) shownCalls(chat string) (out []Call) {
	for _, c := range n.sent {
		if (chat == "" || c.Chat == chat) && !n.removed[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

// Await waits until the messages of a chat satisfy a condition, and returns them. It reports false
// after timeout.
func (n *Network) Await(chat string, timeout time.Duration, enough func([]Call) bool) ([]Call, bool) {
	deadline := time.Now().Add(timeout)
	wakeUp := time.AfterFunc(timeout, func() { n.mu.Lock(); n.changed.Broadcast(); n.mu.Unlock() })
	defer wakeUp.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		shown := n.shownCalls(chat)
		if enough(shown) {
			return shown, true
		}
		if time.Now().After(deadline) {
			return shown, false
		}
		n.changed.Wait()
	}
}

// Edits returns the number of edits.
func (n *Network) Edits() int { n.mu.Lock(); defer n.mu.Unlock(); return n.edits }

// Replaced returns the number of replacements.
func (n *Network) Replaced() int { n.mu.Lock(); defer n.mu.Unlock(); return n.replacements }

// Updates returns the number of messages from users.
func (n *Network) Updates() int { n.mu.Lock(); defer n.mu.Unlock(); return len(n.offered) }

// Acknowledged returns the last update that was acknowledged, and the number of polls.
func (n *Network) Acknowledged() (seq, polls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.acknowledged, n.polls
}

// Typed returns the number of typing indicators.
func (n *Network) Typed() int { n.mu.Lock(); defer n.mu.Unlock(); return n.typing }

// updates answers a poll with the updates after a cursor: at once if there are any, else after 200
// ms at the latest.
func (n *Network) updates(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	over := false
	stop := time.AfterFunc(200*time.Millisecond, func() { n.mu.Lock(); over = true; n.changed.Broadcast(); n.mu.Unlock() })
	defer stop.Stop()
	n.mu.Lock()
	n.polls++
	n.acknowledged = max(n.acknowledged, after)
	for len(n.offered) <= after && !over {
		n.changed.Wait()
	}
	var out []Update
	if after < len(n.offered) {
		out = append(out, n.offered[after:min(len(n.offered), after+100)]...)
	}
	n.mu.Unlock()
	_ = json.NewEncoder(w).Encode(out)
}

func (n *Network) send(w http.ResponseWriter, r *http.Request) {
	var c Call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Text == "" && len(c.Files) == 0 {
		http.Error(w, "empty or broken", http.StatusBadRequest)
		return
	}
	n.serveWithFault(w, r, n.Fault, c, func() (int, any) { return http.StatusOK, map[string]string{"id": n.storeCall(c)} })
}

// serveWithFault carries out a call with a fault.
func (n *Network) serveWithFault(w http.ResponseWriter, r *http.Request, fault func(Call) Fault, c Call, do func() (status int, answer any)) {
	var f Fault
	if fault != nil {
		f = fault(c)
	}
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-r.Context().Done():
			return
		}
	}
	if f.DelayBefore > 0 {
		select {
		case <-time.After(f.DelayBefore):
		case <-r.Context().Done():
			return
		}
	}
	if f.Status != 0 {
		w.Header().Set("X-Retry-After-Ms", strconv.Itoa(int(f.RetryAfter.Milliseconds())))
		http.Error(w, "no", f.Status)
		return
	}
	status, answer := do()
	if f.DelayAfter > 0 {
		select {
		case <-time.After(f.DelayAfter):
		case <-r.Context().Done():
		}
	}
	if f.Disconnect {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (n *Network) storeCall(c Call) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, again := n.keys[c.Key]; again && n.Idempotent && c.Key != "" {
		return id
	}
	c.ID = "s" + strconv.Itoa(len(n.sent)+1)
	n.keys[c.Key] = c.ID
	n.sent = append(n.sent, c)
	n.changed.Broadcast()
	return c.ID
}

func (n *Network) edit(w http.ResponseWriter, r *http.Request) {
	n.changeCall(w, r, func(old *Call, c Call) { n.edits++; old.Text, old.Buttons, old.Details = c.Text, c.Buttons, c.Details })
}

// replace replaces a message by another one.
func (n *Network) replace(w http.ResponseWriter, r *http.Request) {
	n.changeCall(w, r, func(old *Call, c Call) { n.replacements++; *old = c })
}

func (n *Network) changeCall(w http.ResponseWriter, r *http.Request, do func(old *Call, c Call)) {
	var c Call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, "broken", http.StatusBadRequest)
		return
	}
	n.serveWithFault(w, r, n.EditFault, c, func() (int, any) {
		n.mu.Lock()
		defer n.mu.Unlock()
		defer n.changed.Broadcast()
		for i := range n.sent {
			if n.sent[i].ID == c.ID && !n.removed[c.ID] {
				do(&n.sent[i], c)
				return http.StatusOK, nil
			}
		}
		return http.StatusNotFound, nil
	})
}

// UserDeletes deletes a message, as a user would.
func (n *Network) UserDeletes(id string) {
	n.mu.Lock()
	n.removed[id] = true
	n.changed.Broadcast()
	n.mu.Unlock()
}

func (n *Network) remove(w http.ResponseWriter, r *http.Request) {
	var c Call
	_ = json.NewDecoder(r.Body).Decode(&c)
	n.serveWithFault(w, r, n.RemoveFault, c, func() (int, any) {
		n.UserDeletes(c.ID)
		return http.StatusOK, nil
	})
}
