package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"nanobot/channels/web/history"
)

const (
	// keepAliveInterval is how long a stream may be idle before it sends a comment, so that proxies
	// do not close it.
	keepAliveInterval = 15 * time.Second
	// catchUpBatch is how many stored events are read at once.
	catchUpBatch = 200
	// maxCatchUp is how many past events a stream starts with at most. Older ones are served as
	// pages of messages.
	maxCatchUp = 5000
)

// readyEvent is the first event of a stream and says after which event the stream resumes. A client
// then removes all transient messages that it shows; those that still exist follow.
type readyEvent struct {
	Seq       int64  `json:"seq"`
	User      string `json:"user"`
	Name      string `json:"name"` // that the person has chosen
	Operator  bool   `json:"operator"`
	MaxUpload int64  `json:"max_upload"`
	Push      bool   `json:"push,omitempty"` // notifications can be pushed
	// Missed says that the client was more than maxCatchUp events behind, so the events up to Seq
	// are not sent.
	Missed bool `json:"missed,omitempty"`
}

// stream is the response to one client.
type stream struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	err  error
}

func (s *stream) write(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.conn.Flush()
	}
}

// getEvents streams events: first the stored ones after the last that the client has seen, then new
// ones.
func (c *Channel) getEvents(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	after, err := intParameter(r, "after", -1)
	if err != nil {
		return err
	}
	if seen, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = seen // a reconnecting browser repeats the old URL, so its header is more recent
	}
	if err := h.Refresh(r.Context()); err != nil { // the client may have seen what another member has stored
		return err
	}
	p := c.requester(r)
	name, err := h.Name(r.Context(), p.User)
	if err != nil {
		return err
	}
	me, last, now, err := c.hub.addWatcher(p, c.signIn(r) != "" && r.URL.Query().Get("hidden") == "")
	if err != nil {
		return err
	}
	defer c.hub.removeWatcher(me)
	if after < 0 || after > last { // a higher number belongs to another history, for example before a restored backup
		after = last
	}
	missed := last-after > maxCatchUp
	if missed {
		after = last - maxCatchUp
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // otherwise nginx buffers the stream
	s := &stream{w: w, conn: http.NewResponseController(w)}
	// The ID is the start of the stream, not its end: a client that loses the connection at once
	// must not skip events.
	s.write(fmt.Appendf(nil, "event: ready\nid: %d\ndata: %s\n\n", after,
		toJSON(readyEvent{after, p.User, name, p.All, c.o.MaxUpload, c.push != nil, missed})))
	s.flush()
	c.catchUp(r.Context(), s, missedEvents{h, p, after, last})
	for _, f := range now {
		s.write(f.encode())
	}
	s.flush()
	followEvents(r.Context(), s, me)
	return nil
}

// missedEvents are the stored events after one number and up to another that a user may see.
type missedEvents struct {
	in          *history.History
	actor       history.Actor
	after, last int64
}

// catchUp sends stored events that a client has missed.
func (c *Channel) catchUp(ctx context.Context, s *stream, m missedEvents) {
	for s.err == nil && m.after < m.last {
		events, err := m.in.Events(ctx, m.after, m.last, m.actor, catchUpBatch)
		if err != nil && ctx.Err() == nil {
			c.log.Error("event stream aborted", zap.Error(err))
		}
		if s.err = err; len(events) == 0 {
			return
		}
		for _, e := range events {
			if f := c.toStreamEvent(e); f != nil {
				s.write(f.encode())
			}
			m.after = e.Seq
		}
		s.flush()
	}
}

// followEvents sends new events until the client disconnects or the stream is ended.
func followEvents(ctx context.Context, s *stream, me *watcher) {
	quiet := time.NewTimer(keepAliveInterval)
	defer quiet.Stop()
	for s.err == nil {
		select {
		case f := <-me.events:
			s.write(f.encode())
			for range len(me.events) { // events that arrived meanwhile share the flush
				s.write((<-me.events).encode())
			}
		case <-quiet.C:
			s.write([]byte(": \n\n"))
		case <-me.ended:
			return
		case <-ctx.Done():
			return
		}
		s.flush()
		quiet.Reset(keepAliveInterval)
	}
}
