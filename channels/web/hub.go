package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"nanobot/channels/web/history"
)

const (
	// mostFrames is how far somebody who watches may fall behind before their stream is ended. They
	// come back and go on behind the last that they saw.
	mostFrames = 256
	// mostStreams bounds how many watch at once, beside operators; mostOperators how many of them;
	// mostEach how many of one user's.
	mostStreams, mostOperators, mostEach = 1500, 500, 32
)

// frame is one event of a stream. What it says is written once for all streams, by the first that
// needs it.
type frame struct {
	event     string
	seq       int64  // 0: it is not kept
	owner     string // who may see it, beside operators
	operators bool   // only they
	data      func() any

	once sync.Once
	wire []byte
}

func (f *frame) bytes() []byte {
	f.once.Do(func() {
		f.wire = fmt.Appendf(nil, "event: %s\n", f.event)
		if f.seq > 0 {
			f.wire = fmt.Appendf(f.wire, "id: %d\n", f.seq)
		}
		f.wire = fmt.Appendf(f.wire, "data: %s\n\n", toJSON(f.data()))
	})
	return f.wire
}

// toJSON writes a value on one line. What cannot be written is an operator's event, of which we do
// not know what it holds.
func toJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // which is for JSON inside of HTML, and makes six bytes of one
	if err := e.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (f *frame) isFor(p history.Party) bool { return p.All || !f.operators && f.owner == p.User }

// watcher is one stream.
type watcher struct {
	party  history.Party
	frames chan *frame
	ended  chan struct{} // closed when it has fallen behind, or everybody is to go
}

// hub tells everybody who watches what happens. It remembers the progress that is shown just now,
// and nothing else.
type hub struct {
	mu       sync.Mutex
	last     int64 // the last kept event that was published
	watchers map[*watcher]bool
	bubbles  map[bubbleID]*bubble
}

func newHub() *hub {
	return &hub{watchers: map[*watcher]bool{}, bubbles: map[bubbleID]*bubble{}}
}

// begin says which event was the last before any was published.
func (h *hub) begin(last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = last
}

// publish tells everybody who may see it. Nobody is waited for.
func (h *hub) publish(f *frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell(f)
}

func (h *hub) tell(f *frame) {
	if f.seq > 0 {
		h.last = f.seq
	}
	for w := range h.watchers {
		if !f.isFor(w.party) {
			continue
		}
		select {
		case w.frames <- f:
		default:
			h.end(w)
		}
	}
}

func (h *hub) end(w *watcher) {
	if h.watchers[w] {
		delete(h.watchers, w)
		close(w.ended)
	}
}

// watch begins a stream: what was published up to last is kept, what comes later is sent to the
// watcher, and now are the bubbles that are shown.
func (h *hub) watch(p history.Party) (w *watcher, last int64, now []*frame, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.room(p); err != nil {
		return nil, 0, nil, err
	}
	w = &watcher{party: p, frames: make(chan *frame, mostFrames), ended: make(chan struct{})}
	h.watchers[w] = true
	for _, b := range h.bubbles {
		if b.frame.isFor(p) {
			now = append(now, b.frame)
		}
	}
	return w, h.last, now, nil
}

// room tells whether one more may watch. Neither can one user keep the others out, nor all of them
// the operators.
func (h *hub) room(p history.Party) error {
	alike, same := 0, 0
	for w := range h.watchers {
		if w.party.All == p.All {
			alike++
		}
		if w.party == p {
			same++
		}
	}
	switch {
	case !p.All && same >= mostEach:
		return problem{http.StatusTooManyRequests, "Too many pages of yours watch already. Close some."}
	case p.All && alike >= mostOperators, !p.All && alike >= mostStreams:
		return problem{http.StatusServiceUnavailable, "Too many watch already."}
	}
	return nil
}

// watched tells whether an operator watches.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.party.All {
			return true
		}
	}
	return false
}

// leave ends a stream.
func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(w)
}

func (h *hub) hangUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		h.end(w)
	}
}
