package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
)

// intake is what one Run has taken in and not yet handed on. It is used from one goroutine.
//
// An entry is handed on when it is complete: an album when no part has come for a while, a file when it is downloaded.
// Those of a chat are handed on in order; other chats do not wait. What Telegram is told, and what is stored as cursor,
// never passes an update that was not handed on, so that a crash at any point costs nothing: it comes again.
type intake struct {
	c       *Channel
	receive channels.Receive
	queue   []*entry       // in the order of their first updates
	seen    map[int64]bool // updates from offset on that were taken in
	top     int64          // the last update that was taken in
	resumed bool           // an update was taken in that no earlier run has received
	side    errgroup.Group // what is done meanwhile
	woken   chan struct{}  // an entry became complete
}

// entry is one message, album or press on its way.
type entry struct {
	updates  []int64
	chat     string
	messages []*message // several of an album
	press    *press
	touched  time.Time     // when its last update came
	started  bool          // it is being made ready
	ready    chan struct{} // closed when it is
	in       channels.Incoming
	ignored  bool
}

// albumLimit is how many files Telegram puts in an album.
const albumLimit = 10

func newIntake(c *Channel, receive channels.Receive) *intake {
	return &intake{c: c, receive: receive, seen: map[int64]bool{}, woken: make(chan struct{}, 1)}
}

// offset is the first update that was not handed on.
func (in *intake) offset() int64 {
	if first, ok := in.first(nil); ok {
		return first
	}
	if in.top == 0 {
		return 0 // whatever Telegram has for us
	}
	return in.top + 1
}

// first returns the first update in the queue, without those of one entry.
func (in *intake) first(without *entry) (id int64, ok bool) {
	for _, e := range in.queue {
		if e != without && (!ok || e.updates[0] < id) {
			id, ok = e.updates[0], true
		}
	}
	return id, ok
}

// cursorAfter is the cursor to store with an entry: the last update below which everything was handed on.
func (in *intake) cursorAfter(e *entry) int64 {
	if first, ok := in.first(e); ok {
		return first - 1
	}
	return in.top
}

// take puts a batch into the queue. Each update is decoded by itself: one that cannot be is skipped.
func (in *intake) take(ctx context.Context, batch []json.RawMessage) error {
	numbered := len(batch) == 0
	for _, raw := range batch {
		var id struct {
			ID int64 `json:"update_id"`
		}
		if err := json.Unmarshal(raw, &id); err != nil || id.ID == 0 {
			in.c.log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
			continue
		}
		numbered = true
		if in.seen[id.ID] {
			continue
		}
		in.seen[id.ID] = true
		in.top = id.ID
		if in.isOld(id.ID) {
			continue
		}
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			in.c.log.Error("undecodable update skipped", zap.Int64("id", id.ID), zap.Error(err))
			continue
		}
		in.add(ctx, u)
	}
	in.forget()
	if !numbered && in.top > 0 {
		in.top++ // step over it, or it would come for ever
	}
	if !numbered {
		return errUnnumbered
	}
	return nil
}

var errUnnumbered = errors.New("getUpdates: no update has an update_id")

// resumeWindow is how far below the cursor an update is one that was received before. Telegram numbers updates anew when
// there were none for a week, and the cursor may be another bot's: what is further away is new.
const resumeWindow = 1000

// isOld tells whether an earlier run has received an update.
func (in *intake) isOld(id int64) bool {
	if !in.resumed && id <= in.c.cursor && id > in.c.cursor-resumeWindow {
		return true
	}
	in.resumed = true
	return false
}

// forget drops the numbers of updates that will not come again.
func (in *intake) forget() {
	offset := in.offset()
	for id := range in.seen {
		if id < offset {
			delete(in.seen, id)
		}
	}
}

// add puts one update into the queue.
func (in *intake) add(ctx context.Context, u update) {
	e := &entry{updates: []int64{u.ID}, touched: time.Now(), ready: make(chan struct{})}
	switch {
	case u.Press != nil:
		in.side.Go(func() error { in.c.acknowledge(ctx, u.Press); return nil })
		if u.Press.Message == nil || u.Press.Data == "" {
			return // the button of a message that is not ours
		}
		e.press, e.chat = u.Press, u.Press.Message.place().String()
	case u.Message == nil:
		return
	case u.Message.MigrateTo != 0:
		in.c.migrated(u.Message.Chat.ID, u.Message.MigrateTo)
		return
	default:
		if album := in.album(u.Message); album != nil {
			album.updates = append(album.updates, u.ID)
			album.messages = append(album.messages, u.Message)
			album.touched = time.Now()
			return
		}
		e.messages, e.chat = []*message{u.Message}, u.Message.place().String()
	}
	in.queue = append(in.queue, e)
}

// album returns the entry that a message belongs to, or nil.
func (in *intake) album(m *message) *entry {
	i := slices.IndexFunc(in.queue, func(e *entry) bool {
		return m.Group != "" && !e.started && len(e.messages) > 0 &&
			e.messages[0].Group == m.Group && e.messages[0].Chat.ID == m.Chat.ID
	})
	if i < 0 {
		return nil
	}
	return in.queue[i]
}

// due is when an entry has all its updates.
func (in *intake) due(e *entry) time.Time {
	if e.press != nil || e.messages[0].Group == "" || len(e.messages) >= albumLimit {
		return e.touched
	}
	return e.touched.Add(in.c.o.Timing.Quiet)
}

// deliver hands on what is complete, until one is not taken.
func (in *intake) deliver(ctx context.Context) error {
	in.prepare(ctx)
	busy := map[string]bool{}
	for i := 0; i < len(in.queue); {
		e := in.queue[i]
		if busy[e.chat] || !e.isReady() {
			busy[e.chat] = true
			i++
			continue
		}
		if !e.ignored {
			cursor := in.cursorAfter(e)
			e.in.Cursor = strconv.FormatInt(cursor, 10)
			if err := in.receive(ctx, e.in); err != nil {
				return err
			}
			in.c.cursor = cursor
			if e.press != nil {
				in.side.Go(func() error { in.c.removeButtons(ctx, e.press); return nil })
			}
		}
		in.queue = slices.Delete(in.queue, i, i+1)
	}
	return nil
}

func (e *entry) isReady() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// prepare makes messages of the entries that have all their updates; those with files do so at the side.
func (in *intake) prepare(ctx context.Context) {
	now := time.Now()
	for _, e := range in.queue {
		if e.started || now.Before(in.due(e)) {
			continue
		}
		e.started = true
		switch {
		case e.press != nil:
			e.in = pressed(e.press)
			close(e.ready)
		case !slices.ContainsFunc(e.messages, in.c.forUs):
			e.ignored = true
			close(e.ready)
		case !e.hasFiles():
			e.in = in.c.incoming(ctx, e.messages)
			close(e.ready)
		default:
			in.side.Go(func() error {
				e.in = in.c.incoming(ctx, e.messages)
				if ctx.Err() == nil { // otherwise a file may be missing only because we are told to end
					close(e.ready)
					in.wake()
				}
				return nil
			})
		}
	}
}

func (in *intake) wake() {
	select {
	case in.woken <- struct{}{}:
	default:
	}
}

// longestRest is how much later others may be heard while an entry is not complete.
const longestRest = 250 * time.Millisecond

// rest waits until an entry may have become complete, but not so long that other chats notice.
func (in *intake) rest(ctx context.Context) {
	wait := min(in.c.o.Timing.Quiet/4, longestRest)
	now := time.Now()
	for _, e := range in.queue {
		if d := in.due(e).Sub(now); !e.started && d > 0 {
			wait = min(wait, d)
		}
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-in.woken:
	case <-ctx.Done():
	}
}
