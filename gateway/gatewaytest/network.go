// Package gatewaytest is a chat network on loopback for testing the gateway: a server that keeps
// score of all it is asked to do and can be told to misbehave, and the channel that talks to it.
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
)

// Update is one message from a user, as the network offers it. It is offered again until a later
// one is asked for.
type Update struct {
	Seq   int    `json:"seq"`
	Chat  string `json:"chat"`
	ID    string `json:"id"`
	User  string `json:"user"`
	Text  string `json:"text"`
	Press string `json:"press,omitempty"`
	Reply string `json:"reply,omitempty"` // id of the message it replies to
}

// Call is one request to show something: a message, its key, and what the network made of it.
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
}

// Fault is a way in which the network treats a send.
type Fault struct {
	Status     int           // answer with this status and do nothing; 0: do it
	RetryAfter time.Duration // with status 429
	Cut        bool          // do it, then cut the connection instead of answering
	Hang       chan struct{} // wait for this before anything else
	Dawdle     time.Duration // take this long before anything else
	Linger     time.Duration // do it, then take this long to answer
}

// Network is the server. Its zero value is not usable: see NewNetwork.
type Network struct {
	URL string
	// Idempotent networks carry out a key once.
	Idempotent bool
	// Fault, if not nil, is asked about every send, EditFault about every edit and replacement.
	Fault, EditFault func(c Call) Fault

	server *httptest.Server
	mu     sync.Mutex
	more   *sync.Cond
	ups    []Update
	sent   []Call
	keys   map[string]string
	gone   map[string]bool
	edits  int
	placed int
	typed  int
	polls  int
	polled int
}

// NewNetwork starts a network.
func NewNetwork() *Network {
	n := &Network{keys: map[string]string{}, gone: map[string]bool{}}
	n.more = sync.NewCond(&n.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /updates", n.updates)
	mux.HandleFunc("POST /send", n.send)
	mux.HandleFunc("POST /edit", n.edit)
	mux.HandleFunc("POST /replace", n.replace)
	mux.HandleFunc("POST /remove", n.remove)
	mux.HandleFunc("POST /typing", func(http.ResponseWriter, *http.Request) { n.mu.Lock(); n.typed++; n.mu.Unlock() })
	n.server = httptest.NewServer(mux)
	n.URL = n.server.URL
	return n
}

// Close stops the network.
func (n *Network) Close() {
	n.server.CloseClientConnections()
	n.server.Close()
}

// Say is a user who writes. It returns the message's id.
func (n *Network) Say(chat, user, text string) string {
	return n.add(Update{Chat: chat, User: user, Text: text})
}

// Reply is a user who writes about a message.
func (n *Network) Reply(chat, user, to, text string) string {
	return n.add(Update{Chat: chat, User: user, Text: text, Reply: to})
}

// Press is a user who presses a button.
func (n *Network) Press(chat, user, data string) string {
	return n.add(Update{Chat: chat, User: user, Press: data})
}

// Repeat offers a message from a user once more, as a network does that was not told that it is
// safe.
func (n *Network) Repeat(id string) {
	n.mu.Lock()
	at := slices.IndexFunc(n.ups, func(u Update) bool { return u.ID == id })
	u := n.ups[at]
	n.mu.Unlock()
	n.add(u)
}

// add offers a message from a user. Without an ID it is a new one.
func (n *Network) add(u Update) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	u.Seq = len(n.ups) + 1
	u.ID = cmp.Or(u.ID, "m"+strconv.Itoa(u.Seq))
	n.ups = append(n.ups, u)
	n.more.Broadcast()
	return u.ID
}

// Sent returns what chats were shown so far, in order; of one chat, or of all for "". Removed
// messages are left out.
func (n *Network) Sent(chat string) []Call {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shown(chat)
}

func (n *Network) shown(chat string) (out []Call) {
	for _, c := range n.sent {
		if (chat == "" || c.Chat == chat) && !n.gone[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

// Await waits until what a chat was shown satisfies a condition, and returns it. It reports false
// when that takes longer than patience.
func (n *Network) Await(chat string, patience time.Duration, enough func([]Call) bool) ([]Call, bool) {
	deadline := time.Now().Add(patience)
	wakeUp := time.AfterFunc(patience, func() { n.mu.Lock(); n.more.Broadcast(); n.mu.Unlock() })
	defer wakeUp.Stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		shown := n.shown(chat)
		if enough(shown) {
			return shown, true
		}
		if time.Now().After(deadline) {
			return shown, false
		}
		n.more.Wait()
	}
}

// Edits and Typed count edits of messages and signs of typing.
func (n *Network) Edits() int { n.mu.Lock(); defer n.mu.Unlock(); return n.edits }

// Replaced counts messages that took the place of others.
func (n *Network) Replaced() int { n.mu.Lock(); defer n.mu.Unlock(); return n.placed }

// Updates counts the messages from users.
func (n *Network) Updates() int { n.mu.Lock(); defer n.mu.Unlock(); return len(n.ups) }

// Acknowledged says up to which update the network was told that they are safe, and how often it
// was asked for more.
func (n *Network) Acknowledged() (seq, polls int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.polled, n.polls
}

// Typed counts signs of typing.
func (n *Network) Typed() int { n.mu.Lock(); defer n.mu.Unlock(); return n.typed }

// updates answers a poll: what came after a place, at once if there is something, else after a
// while.
func (n *Network) updates(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	over := false
	stop := time.AfterFunc(200*time.Millisecond, func() { n.mu.Lock(); over = true; n.more.Broadcast(); n.mu.Unlock() })
	defer stop.Stop()
	n.mu.Lock()
	n.polls++
	n.polled = max(n.polled, after)
	for len(n.ups) <= after && !over {
		n.more.Wait()
	}
	var out []Update
	if after < len(n.ups) {
		out = append(out, n.ups[after:min(len(n.ups), after+100)]...)
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
	n.faulty(w, r, n.Fault, c, func() (int, any) { return http.StatusOK, map[string]string{"id": n.show(c)} })
}

// faulty does something in the way in which it is to be treated.
func (n *Network) faulty(w http.ResponseWriter, r *http.Request, fault func(Call) Fault, c Call, do func() (status int, answer any)) {
	var f Fault
	if fault != nil {
		f = fault(c)
	}
	if f.Hang != nil {
		select {
		case <-f.Hang:
		case <-r.Context().Done():
			return
		}
	}
	if f.Dawdle > 0 {
		select {
		case <-time.After(f.Dawdle):
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
	if f.Linger > 0 {
		select {
		case <-time.After(f.Linger):
		case <-r.Context().Done():
		}
	}
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (n *Network) show(c Call) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, again := n.keys[c.Key]; again && n.Idempotent && c.Key != "" {
		return id
	}
	c.ID = "s" + strconv.Itoa(len(n.sent)+1)
	n.keys[c.Key] = c.ID
	n.sent = append(n.sent, c)
	n.more.Broadcast()
	return c.ID
}

func (n *Network) edit(w http.ResponseWriter, r *http.Request) {
	n.change(w, r, func(old *Call, c Call) { n.edits++; old.Text = c.Text })
}

// replace makes another message of one, for good.
func (n *Network) replace(w http.ResponseWriter, r *http.Request) {
	n.change(w, r, func(old *Call, c Call) { n.placed++; *old = c })
}

func (n *Network) change(w http.ResponseWriter, r *http.Request, do func(old *Call, c Call)) {
	var c Call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, "broken", http.StatusBadRequest)
		return
	}
	n.faulty(w, r, n.EditFault, c, func() (int, any) {
		n.mu.Lock()
		defer n.mu.Unlock()
		defer n.more.Broadcast()
		for i := range n.sent {
			if n.sent[i].ID == c.ID && !n.gone[c.ID] {
				do(&n.sent[i], c)
				return http.StatusOK, nil
			}
		}
		return http.StatusNotFound, nil
	})
}

// Delete is a user who deletes a message.
func (n *Network) Delete(id string) {
	n.mu.Lock()
	n.gone[id] = true
	n.more.Broadcast()
	n.mu.Unlock()
}

func (n *Network) remove(_ http.ResponseWriter, r *http.Request) {
	var c Call
	_ = json.NewDecoder(r.Body).Decode(&c)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone[c.ID] = true
	n.more.Broadcast()
}
