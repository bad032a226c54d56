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
	// quietFor is after how long a stream says something, so that nothing in between takes it for
	// dead.
	quietFor = 15 * time.Second
	// backlog is how many kept events are read at once.
	backlog = 200
	// mostBehind is how many events back a stream begins at most. What lies before is to be had in
	// pages.
	mostBehind = 5000
)

// ready is the first event of a stream: behind which event it goes on. What was shown of progress
// is to be forgotten; what is still true is told again.
type ready struct {
	Seq       int64  `json:"seq"`
	User      string `json:"user"`
	Operator  bool   `json:"operator"`
	MaxUpload int64  `json:"max_upload"`
	// Missed says that the client was too far behind: what lies between what it saw and Seq is not
	// told.
	Missed bool `json:"missed,omitempty"`
}

// stream is one client's.
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

// getEvents is what happens, as it happens: what was kept behind the event that the client saw
// last, then what comes.
func (c *Channel) getEvents(w http.ResponseWriter, r *http.Request) error {
	h, err := c.history()
	if err != nil {
		return err
	}
	after, err := number(r, "after", -1)
	if err != nil {
		return err
	}
	if seen, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		after = seen // a browser that comes back has seen more than its address says
	}
	p := c.party(r)
	me, last, now, err := c.hub.watch(p)
	if err != nil {
		return err
	}
	defer c.hub.leave(me)
	if after < 0 || after > last { // beyond the last is somebody's who knows another history
		after = last
	}
	missed := last-after > mostBehind
	if missed {
		after = last - mostBehind
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would wait for more
	s := &stream{w: w, conn: http.NewResponseController(w)}
	// The number is where it begins, not where it is now: should it break off at once, nothing is
	// passed over.
	s.write(fmt.Appendf(nil, "event: ready\nid: %d\ndata: %s\n\n", after, toJSON(ready{after, p.User, p.All, c.o.MaxUpload, missed})))
	s.flush()
	c.catchUp(r.Context(), s, missedEvents{h, p, after, last})
	for _, f := range now {
		s.write(f.bytes())
	}
	s.flush()
	follow(r.Context(), s, me)
	return nil
}

// missedEvents are the events of a party after one and up to another.
type missedEvents struct {
	in          *history.History
	party       history.Party
	after, last int64
}

// catchUp sends the events that a client has missed.
func (c *Channel) catchUp(ctx context.Context, s *stream, m missedEvents) {
	for s.err == nil && m.after < m.last {
		events, err := m.in.Between(ctx, m.after, m.last, m.party, backlog)
		if err != nil && ctx.Err() == nil {
			c.log.Error("stream broken off", zap.Error(err))
		}
		if s.err = err; len(events) == 0 {
			return
		}
		for _, e := range events {
			s.write(c.eventFrame(e).bytes())
			m.after = e.Seq
		}
		s.flush()
	}
}

// follow sends what happens, until the client leaves or is to go.
func follow(ctx context.Context, s *stream, me *watcher) {
	quiet := time.NewTimer(quietFor)
	defer quiet.Stop()
	for s.err == nil {
		select {
		case f := <-me.frames:
			s.write(f.bytes())
			for range len(me.frames) { // what has come meanwhile goes along
				s.write((<-me.frames).bytes())
			}
		case <-quiet.C:
			s.write([]byte(": \n\n"))
		case <-me.ended:
			return
		case <-ctx.Done():
			return
		}
		s.flush()
		quiet.Reset(quietFor)
	}
}
