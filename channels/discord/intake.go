package discord

import (
	"context"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// intake is what one Run has taken in and not yet handed on. It is used from one goroutine; what is
// done at the side comes back through done.
//
// What is said in a chat is handed on in order, and several chats are handed on at the same time,
// so that the store can commit their messages together. The mark that is stored as cursor never
// passes a message that was not stored, nor a chat whose past was not looked through, so that a
// crash at any point costs nothing: it is looked for again. It may lag: see hand.
type intake struct {
	c       *Channel
	m       *memory
	receive channels.Receive
	events  <-chan event
	done    chan func()
	handed  chan outcome // of each message that is being received
	side    errgroup.Group

	lines   map[flake]*line // chats with something to do
	from    flake           // what was said after it may have been missed before this session
	caught  map[flake]bool  // chats whose past was or is being looked through in this session
	awaited map[flake]flake // servers that are not there yet, and from where on we have missed what is said there
	began   time.Time       // when the Run began
	since   time.Time       // when the session began
	asking  int             // how many calls are made at the side to look for the past
	opening int             // how many direct conversations are looked up
	handing map[string]bool // chats of which a message is being received
	disk    *httpclient.Retrier
	again   time.Time // when the chats whose messages were not received are tried again
	list    *httpclient.Retrier
	listing bool      // the list of known chats is being stored
	relist  time.Time // when to try again to store it
	keeping bool      // a cursor is being stored without a message
	kept    flake     // the highest mark that was stored
	greeted bool      // what is done once a Run was done
}

// line is what waits in one chat, in order.
type line struct {
	queue  []*entry
	busy   bool      // the first one is being received
	failed bool      // the first one was not taken, perhaps several times
	retry  time.Time // when to hand it on again
	past   *past     // nil: nothing is to be looked for
	held   []*entry  // what was said meanwhile, which belongs behind it
}

// entry is one message, command or press on its way.
type entry struct {
	message *message
	room    room
	use     *use          // of a command or a button
	ready   chan struct{} // closed when in is complete
	listed  int           // the version of the list of known chats that must be stored first
	in      channels.Incoming
}

func (in *intake) newEntry() *entry {
	return &entry{ready: make(chan struct{}), listed: in.m.listed}
}

func newIntake(c *Channel, receive channels.Receive, events <-chan event) *intake {
	return &intake{
		c: c, m: &c.memory, receive: receive, events: events,
		done: make(chan func()), handed: make(chan outcome, receivesAtOnce),
		lines: map[flake]*line{}, caught: map[flake]bool{}, awaited: map[flake]flake{}, handing: map[string]bool{},
		began: time.Now(), disk: c.newRetrier("message not received, will retry"),
		list: c.newRetrier("known chats not stored, will retry"),
	}
}

// run takes in what happens and hands it on, until ctx ends.
func (in *intake) run(ctx context.Context) {
	defer in.side.Wait() //nolint:errcheck // what goes on at the side logs its own errors
	if !in.loadChats(ctx) {
		return
	}
	defer in.unsee()
	defer in.finish(ctx)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for ctx.Err() == nil {
		in.saveChats(ctx)
		in.deliver(ctx)
		in.search(ctx)
		in.note(ctx)
		tick.Reset(in.rest())
		select {
		case e := <-in.events:
			in.happen(ctx, e)
		case f := <-in.done:
			f()
		case o := <-in.handed:
			in.conclude(ctx, o)
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// unsee leaves what was not handed on to the next Run, which looks for it.
func (in *intake) unsee() {
	for _, l := range in.lines {
		for _, e := range l.queue {
			if e.message != nil {
				delete(in.m.seen, e.message.ID)
			}
		}
	}
}

// rest is how long nothing needs to be done by itself.
func (in *intake) rest() time.Duration {
	wait := time.Minute
	if !in.relist.IsZero() && !in.listing {
		wait = min(wait, time.Until(in.relist))
	}
	for _, l := range in.lines {
		if !l.retry.IsZero() {
			wait = min(wait, time.Until(l.retry))
		}
		if l.past != nil && !l.past.busy && !l.past.retry.IsZero() && len(l.queue) == 0 && in.asking < asksAtOnce {
			wait = min(wait, time.Until(l.past.retry))
		}
	}
	return max(wait, 0)
}

// aside does something at the side. What it returns is done here afterwards, unless it is nil.
func (in *intake) aside(ctx context.Context, do func() func()) {
	in.side.Go(func() error {
		if after := do(); after != nil {
			select {
			case in.done <- after:
			case <-ctx.Done():
			}
		}
		return nil
	})
}

func (in *intake) line(id flake) *line {
	l := in.lines[id]
	if l == nil {
		l = &line{}
		in.lines[id] = l
	}
	return l
}

// mark is up to where everything was handed on, or will be with one entry. It never goes back.
func (in *intake) mark(with *entry) flake {
	mark := max(in.m.newest.back(margin), in.m.came) // of before we came it was decided what counts
	for _, l := range in.lines {
		mark = min(mark, lowest(l.queue, with), lowest(l.held, with))
		if l.past != nil {
			mark = min(mark, l.past.from())
		}
	}
	if in.opening > 0 || in.incomplete() {
		mark = min(mark, in.from)
	}
	return max(mark, in.m.mark)
}

// lowest is up to where nothing is among some entries, without one of them.
func lowest(entries []*entry, without *entry) flake {
	low := flake(math.MaxUint64)
	for _, e := range entries {
		if e != without && e.message != nil {
			low = min(low, e.message.ID-1)
		}
	}
	return low
}

// longestWait is how long the mark stays for a server that does not come. Nobody can write on it
// meanwhile.
const longestWait = 10 * time.Minute

func (in *intake) incomplete() bool {
	return len(in.awaited) > 0 && time.Since(in.since) < longestWait
}
