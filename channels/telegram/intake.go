package telegram

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
)

// intake is what one Run has taken in and not yet handed on. It is used from one goroutine.
//
// An entry is handed on when it is complete: an album when no part has come for a while, a file
// when it is downloaded. Those of a chat are handed on in order; other chats do not wait. Until
// then a crash at any point costs nothing: what was came is on the shelf, or Telegram was not told
// that we have it.
type intake struct {
	c       *Channel
	receive channels.Receive
	queue   []*entry       // in the order in which they came
	side    errgroup.Group // what is done meanwhile
	woken   chan struct{}  // an entry became complete
	shelf   *shelf
	more    bool   // what came last was not all that came with it
	refused string // why the last delivery was not taken
}

// entry is one message, album or press on its way.
type entry struct {
	cursor   int64 // where to go on behind it; 0: it says nothing about that
	slip     *slip // what of it is on the shelf; nil: nothing
	chat     string
	messages []*message // several of an album
	press    *press
	touched  time.Time     // when its last update came
	awaits   bool          // its other parts may have been held up by a restart
	sealed   bool          // it has all its parts, and is made ready
	ready    chan struct{} // closed when it can be handed on
	in       channels.Incoming
	ignored  bool
}

// albumLimit is how many files Telegram puts in an album.
const albumLimit = 10

func newIntake(c *Channel, receive channels.Receive) *intake {
	return &intake{
		c: c, receive: receive, woken: make(chan struct{}, 1), shelf: newShelf(c.shelfDir(), c.log),
	}
}

// place finds the entry that an update belongs to: an album that waits in the queue, a new one, or
// nil if there is nothing to hand on.
func (in *intake) place(ctx context.Context, u update) (e *entry, part bool) {
	if u.Press == nil && u.Message != nil {
		if album := in.album(u.Message); album != nil {
			return album, true
		}
	}
	return in.entry(ctx, u), false
}

// entry makes an entry of an update, or nil.
func (in *intake) entry(ctx context.Context, u update) *entry {
	e := &entry{touched: time.Now(), ready: make(chan struct{})}
	switch {
	case u.Press != nil:
		in.side.Go(func() error { in.c.acknowledge(ctx, u.Press); return nil })
		if u.Press.Message == nil || u.Press.Data == "" {
			return nil // the button of a message that is not ours
		}
		e.press, e.chat = u.Press, u.Press.Message.place().String()
	case u.Message == nil:
		return nil
	default:
		e.messages, e.chat = []*message{u.Message}, u.Message.place().String()
	}
	return e
}

// enqueue puts a new entry into the queue, or a part into its album.
func (in *intake) enqueue(e *entry, part bool, u update) {
	if !part {
		in.queue = append(in.queue, e)
		return
	}
	e.messages = append(e.messages, u.Message)
	e.touched, e.awaits = time.Now(), false
}

// album returns the entry that a message belongs to, or nil.
func (in *intake) album(m *message) *entry {
	i := slices.IndexFunc(in.queue, func(e *entry) bool {
		return m.Group != "" && !e.isClosed() && e.isAlbum() && e.messages[0].Group == m.Group && e.messages[0].Chat.ID == m.Chat.ID
	})
	if i < 0 {
		return nil
	}
	return in.queue[i]
}

func (e *entry) isAlbum() bool { return e.press == nil && e.messages[0].Group != "" }

// isClosed tells whether an entry takes no more parts. It stays so after a restart: a part that
// comes later must not join a message that was received already.
func (e *entry) isClosed() bool { return e.sealed || e.slip != nil && e.slip.sealed }

// isDue tells whether an entry has all its parts, or else when it is thought to.
func (in *intake) isDue(e *entry) (now bool, after time.Duration) {
	if e.isClosed() || !e.isAlbum() || len(e.messages) >= albumLimit {
		return true, 0
	}
	if e.awaits || in.more {
		return false, longTime
	}
	after = time.Until(e.touched.Add(in.c.o.Timing.Quiet))
	return after <= 0, after
}

const longTime = time.Hour

// untilDue is how long it takes until another album is to be sealed, if there is one. It may be due
// by now.
func (in *intake) untilDue() (wait time.Duration, ok bool) {
	for _, e := range in.queue {
		if e.sealed {
			continue
		}
		if _, after := in.isDue(e); !ok || after < wait {
			wait, ok = after, true
		}
	}
	return wait, ok
}

// release ends the waiting for parts that were held up by a restart.
func (in *intake) release() {
	for _, e := range in.queue {
		if e.awaits {
			e.awaits, e.touched = false, time.Now()
		}
	}
}

// deliver hands on what is complete, until one is not taken.
func (in *intake) deliver(ctx context.Context) error {
	for _, e := range in.queue {
		if err := in.seal(ctx, e); err != nil {
			return err
		}
	}
	busy := map[string]bool{}
	for i := 0; i < len(in.queue); {
		e := in.queue[i]
		if busy[e.chat] || !e.isReady() {
			busy[e.chat] = true
			i++
			continue
		}
		if err := in.handOn(ctx, e); err != nil {
			return err
		}
		in.queue = slices.Delete(in.queue, i, i+1)
		in.shelf.drop(e.slip, e.isAlbum())
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

// handOn has an entry received.
func (in *intake) handOn(ctx context.Context, e *entry) error {
	if e.ignored {
		return in.c.moves.keep(e.messages)
	}
	if e.cursor != 0 {
		e.in.Cursor = in.c.writeCursor(e.cursor)
	}
	if err := in.receive(ctx, e.in); err != nil {
		return err
	}
	if e.cursor != 0 {
		in.c.cursor = e.cursor
	}
	if e.press != nil {
		in.side.Go(func() error { in.c.removeButtons(ctx, e.press); return nil })
	}
	return nil
}

// seal closes an entry that has all its parts and makes a message of it; one with files is made at
// the side.
func (in *intake) seal(ctx context.Context, e *entry) error {
	if now, _ := in.isDue(e); e.sealed || !now {
		return nil
	}
	if err := in.shelf.seal(e.slip); err != nil {
		return err
	}
	e.sealed = true
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
	return nil
}

func (in *intake) wake() {
	select {
	case in.woken <- struct{}{}:
	default:
	}
}

// number returns an update's id, or 0 if it has none.
func (c *Channel) number(raw []byte) int64 {
	var u struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil || u.ID == 0 {
		c.log.Error("update without an id skipped", zap.Int("bytes", len(raw)), zap.Error(err))
		return 0
	}
	return u.ID
}

func (in *intake) decode(id int64, raw []byte) (u update, ok bool) {
	if err := json.Unmarshal(raw, &u); err != nil {
		in.c.log.Error("undecodable update skipped", zap.Int64("id", id), zap.Error(err))
		return u, false
	}
	in.c.moves.locate(u)
	return u, true
}
