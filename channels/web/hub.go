package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

const (
	// maxQueuedEvents is how many events a stream may fall behind before it is ended. Its client
	// connects again and resumes after the last event seen.
	maxQueuedEvents = 256
	// maxUserStreams bounds the streams of all users who are not operators, maxOperatorStreams
	// those of all operators, maxStreamsPerUser those of one user.
	maxUserStreams, maxOperatorStreams, maxStreamsPerUser = 1500, 500, 32
)

// streamEvent is one server-sent event. The first stream that sends it encodes it for all.
type streamEvent struct {
	name      string
	seq       int64  // 0: the event is not stored
	owner     string // the user who may see it; operators may see every event
	operators bool   // only operators may see it
	personal  bool   // only the owner may see it
	data      func() any

	once    sync.Once
	encoded []byte
}

func (f *streamEvent) encode() []byte {
	f.once.Do(func() {
		f.encoded = fmt.Appendf(nil, "event: %s\n", f.name)
		if f.seq > 0 {
			f.encoded = fmt.Appendf(f.encoded, "id: %d\n", f.seq)
		}
		f.encoded = fmt.Appendf(f.encoded, "data: %s\n\n", toJSON(f.data()))
	})
	return f.encoded
}

// toJSON encodes a value on one line. Only events of operators can fail to encode, since their
// content comes from outside of this package.
func toJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // escaping is needed only for JSON within HTML, and makes six bytes of one
	if err := e.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (f *streamEvent) visibleTo(p history.Actor) bool {
	return p.All && !f.personal || !f.operators && f.owner == p.User
}

// watcher is one event stream.
type watcher struct {
	actor  history.Actor
	shown  bool // on a visible page of a person
	events chan *streamEvent
	ended  chan struct{} // closed when the stream is too far behind or is to end
}

// hub sends events to all watchers. It stores only the transient messages that are shown now.
type hub struct {
	mu         sync.Mutex
	last       int64 // sequence number of the last stored event that was published
	watchers   map[*watcher]bool
	transients map[transientID]*transient
}

func newHub() *hub {
	return &hub{watchers: map[*watcher]bool{}, transients: map[transientID]*transient{}}
}

// setLast sets the sequence number of the last event before the first publication.
func (h *hub) setLast(last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = last
}

// publish sends an event to all watchers that may see it. It does not wait for any of them.
func (h *hub) publish(f *streamEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notifyWatchers(f)
}

func (h *hub) notifyWatchers(f *streamEvent) {
	if f.seq > 0 {
		h.last = f.seq
	}
	for w := range h.watchers {
		if !f.visibleTo(w.actor) {
			continue
		}
		select {
		case w.events <- f:
		default:
			h.endStream(w)
		}
	}
}

func (h *hub) endStream(w *watcher) {
	if h.watchers[w] {
		delete(h.watchers, w)
		close(w.ended)
	}
}

// addWatcher starts a stream. The client reads the events up to last from the history, the watcher
// gets the later ones, and now has the transient messages that are shown.
func (h *hub) addWatcher(p history.Actor, shown bool) (w *watcher, last int64, now []*streamEvent, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.checkCapacity(p); err != nil {
		return nil, 0, nil, err
	}
	w = &watcher{actor: p, shown: shown, events: make(chan *streamEvent, maxQueuedEvents), ended: make(chan struct{})}
	h.watchers[w] = true
	for _, b := range h.transients {
		if b.event.visibleTo(p) {
			now = append(now, b.event)
		}
	}
	return w, h.last, now, nil
}

// checkCapacity returns an error if no further stream is allowed. One user cannot use up the
// streams of all users, and users cannot use up those of operators.
func (h *hub) checkCapacity(p history.Actor) error {
	alike, same := 0, 0
	for w := range h.watchers {
		if w.actor.All == p.All {
			alike++
		}
		if w.actor == p {
			same++
		}
	}
	switch {
	case !p.All && same >= maxStreamsPerUser:
		return shownError(http.StatusTooManyRequests, words.PageTooManyPages)
	case p.All && alike >= maxOperatorStreams, !p.All && alike >= maxUserStreams:
		return shownError(http.StatusServiceUnavailable, words.PageTooManyPeople)
	}
	return nil
}

// hasOperators reports whether an operator has a stream.
func (h *hub) hasOperators() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.actor.All {
			return true
		}
	}
	return false
}

// isShownTo reports whether a user has a stream on a visible page.
func (h *hub) isShownTo(user string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.shown && w.actor.User == user {
			return true
		}
	}
	return false
}

// removeWatcher ends a stream.
func (h *hub) removeWatcher(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endStream(w)
}

func (h *hub) endAllStreams() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		h.endStream(w)
	}
}
