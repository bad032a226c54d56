package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

const (
	// pageSize is how many messages Discord hands out at once.
	pageSize = 100
	// asksAtOnce is how many chats are looked through at once.
	asksAtOnce = 4
	// mostHeld is how many messages of a chat are held while its past is looked through. More are
	// found there.
	mostHeld = 200
)

// past is the search through what was said in a chat while we may not have heard it.
type past struct {
	after  flake // what is newer is yet to be looked for
	thread bool
	busy   bool // a call is under way
	again  bool // there is more at the end: look once more
	retry  time.Time
	pause  *httpclient.Retrier
	// found is what was said to us before we came and does not seem to be answered.
	found []*message
}

// from is up to where everything was taken in.
func (p *past) from() flake {
	if len(p.found) > 0 {
		return min(p.after, p.found[0].ID-1)
	}
	return p.after
}

// recall has the past of a chat looked through, once a session.
func (in *intake) recall(id flake, thread bool, from flake) {
	if in.caught[id] {
		return
	}
	in.caught[id] = true
	if r, ok := in.c.world.room(id); ok && r.closed {
		return
	}
	l := in.line(id)
	if l.past != nil { // of before an outage: it goes on to the end
		l.unhold()
		return
	}
	l.past = &past{after: from, thread: thread, pause: in.c.newRetrier("history not fetched, will retry")}
}

// abandon ends the search in a chat that is gone. What would be found could not be told from a
// direct conversation.
func (in *intake) abandon(id flake) {
	if l := in.lines[id]; l != nil {
		l.past, l.held = nil, nil
	}
}

// search asks for the next messages of the chats whose past is to be looked through and of which
// nothing waits.
func (in *intake) search(ctx context.Context) {
	now := time.Now()
	for id, l := range in.lines {
		p := l.past
		if p == nil || p.busy || len(l.queue) > 0 || now.Before(p.retry) {
			continue
		}
		if in.asking == asksAtOnce {
			return
		}
		in.asking++
		p.busy = true
		in.aside(ctx, func() func() {
			page, err := in.c.history(ctx, id, p.after, p.thread)
			return func() {
				in.asking--
				p.busy = false
				if l.past == p {
					in.found(ctx, id, page, err)
				}
			}
		})
	}
}

// history returns what was said in a chat after some message, oldest first. A thread that Discord
// has not told of is looked up first.
func (c *Channel) history(ctx context.Context, id, after flake, thread bool) ([]*message, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, ok := c.world.room(id); !ok && thread {
		var p place
		err := c.api.call(ctx, route{getChannel, id.String()}, &p, func(l library) (any, error) { return l.Channel(id.String(), l.options...) })
		if err != nil {
			return nil, err
		}
		c.world.add(p)
	}
	var all []json.RawMessage
	err := c.api.call(ctx, route{getMessages, id.String()}, &all, func(l library) (any, error) {
		return l.ChannelMessages(id.String(), pageSize, "", after.String(), "", l.options...)
	})
	var page []*message
	for _, raw := range all {
		if m := c.decodeMessage(raw); m.ID != 0 {
			page = append(page, m)
		}
	}
	slices.SortFunc(page, func(a, b *message) int { return cmp.Compare(a.ID, b.ID) })
	return page, err
}

// decodeMessage reads one message of a page by itself, so that a strange one costs no other. It is
// not decoded by the library, which fails for components that it does not know. Of a message that
// cannot be decoded only the id is left, with a type that nobody takes in, so that the search goes
// on behind it.
func (c *Channel) decodeMessage(raw json.RawMessage) *message {
	var m message
	err := json.Unmarshal(raw, &m)
	if err == nil {
		return &m
	}
	m = message{Type: -1}
	_ = json.Unmarshal(raw, &struct {
		ID *flake `json:"id"`
	}{&m.ID})
	c.log.Error("undecodable message skipped", zap.Stringer("id", m.ID), zap.Int("bytes", len(raw)), zap.Error(err))
	return &m
}

// found takes in a page of the past of a chat, or why there is none.
func (in *intake) found(ctx context.Context, id flake, page []*message, err error) {
	l := in.line(id)
	p := l.past
	var no *refusal
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &no) && no.final():
		in.c.log.Debug("history refused", zap.Stringer("chat", id), zap.Error(err))
		if no.Status == http.StatusForbidden {
			in.c.world.close(id)
		} else {
			in.m.gone(id)
		}
		in.present(ctx, l)
		return
	case err != nil:
		p.retry = time.Now().Add(p.pause.Next(err))
		return
	}
	p.retry = time.Time{}
	end, met := l.firstHeld(), false
	for _, m := range page {
		if met = m.ID >= end; met { // from here on we have heard it all
			break
		}
		in.m.newest = max(in.m.newest, m.ID)
		p.after = max(p.after, m.ID)
		if m.ID <= in.m.came {
			in.weigh(p, m)
			continue
		}
		in.answerable(ctx, p)
		l.release(m.ID)
		in.take(ctx, m)
	}
	switch {
	case met:
		in.present(ctx, l)
	case len(page) >= pageSize:
	case p.again:
		p.again = false
	default:
		in.present(ctx, l)
	}
}

// weigh looks at what was said before we came. What was said to us since we last spoke is kept; the
// rest counts as taken in, so that no later search brings it up.
func (in *intake) weigh(p *past, m *message) {
	r, _ := in.c.world.room(m.Channel)
	switch {
	case m.Author.ID == in.c.world.self():
		for _, f := range p.found {
			in.m.see(f.ID)
		}
		p.found = nil
	case in.m.seen[m.ID] || !in.c.forUs(m, r):
	case r.guild == 0 || in.c.addressed(m, r):
		p.found = append(p.found, m)
	default:
		in.m.see(m.ID)
	}
}

// answerable takes in what was found of the time before we came.
func (in *intake) answerable(ctx context.Context, p *past) {
	for _, m := range p.found {
		in.take(ctx, m)
	}
	p.found = nil
}

// present ends the search in a chat: what was said meanwhile follows.
func (in *intake) present(ctx context.Context, l *line) {
	held := l.held
	in.answerable(ctx, l.past)
	l.past, l.held = nil, nil
	for _, e := range held {
		if e.use != nil {
			l.queue = append(l.queue, e)
		} else {
			in.take(ctx, e.message)
		}
	}
}

// hold keeps what is said in a chat while its past is looked through.
func (l *line) hold(e *entry) {
	if len(l.held) >= mostHeld && e.use == nil {
		l.unhold()
		return
	}
	l.held = append(l.held, e)
}

// unhold leaves the messages that are held to the search.
func (l *line) unhold() {
	l.held = slices.DeleteFunc(l.held, func(e *entry) bool { return e.use == nil })
	l.past.again = true
}

// firstHeld is the first message that is held.
func (l *line) firstHeld() flake {
	for _, e := range l.held {
		if e.message != nil {
			return e.message.ID
		}
	}
	return math.MaxUint64
}

// release puts uses of commands and buttons in their place, before a message that was found.
func (l *line) release(before flake) {
	l.held = slices.DeleteFunc(l.held, func(e *entry) bool {
		if e.use == nil || e.use.ID >= before {
			return false
		}
		l.queue = append(l.queue, e)
		return true
	})
}
