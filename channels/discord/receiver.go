package discord

import (
	"context"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// receiver orders the events of one Run and delivers their messages. It is used from one goroutine;
// background work returns through callbacks.
//
// Messages of one chat are delivered in order, and several chats at the same time, so that the
// store can group their commits. The watermark in the cursor never passes a message that was not
// stored, nor a chat whose history was not searched, so a crash at any point loses nothing: the
// messages are fetched again. The stored watermark may lag; see deliverFirst.
type receiver struct {
	c          *Channel
	state      *syncState
	receive    channels.Receive
	events     <-chan event
	callbacks  chan func()
	outcomes   chan receiveOutcome // of the running Receive calls
	background errgroup.Group

	queues         map[snowflake]*chatQueue // chats with pending work
	missedSince    snowflake                // messages after this ID may have been missed before this session
	searched       map[snowflake]bool       // chats whose history was or is being searched in this session
	pendingGuilds  map[snowflake]snowflake  // unavailable guilds, with the ID from which on their messages were missed
	startedAt      time.Time                // of Run
	sessionStart   time.Time                // of the gateway session
	historyCalls   int                      // running history calls
	dmLookups      int                      // running direct message lookups
	receiving      map[string]bool          // IDs of chats with a running Receive call
	receiveRetrier *httpclient.Retrier
	receiveRetryAt time.Time // when failed chats are tried again
	chatsRetrier   *httpclient.Retrier
	savingChats    bool      // the list of known chats is being stored
	saveChatsAt    time.Time // when to retry storing the list
	savingCursor   bool      // a cursor is being stored without a message
	savedWatermark snowflake // the highest stored watermark
	startupDone    bool      // the commands were registered and the direct messages looked up
}

// chatQueue holds the pending messages of one chat, in order.
type chatQueue struct {
	entries   []*entry
	receiving bool           // a Receive call for the first entry is running
	failed    bool           // Receive failed for the first entry
	retryAt   time.Time      // when to receive it again
	history   *historySearch // nil: no search is needed
	live      []*entry       // events that arrived during the search, delivered after it
}

// entry is one pending message, command, button press or change of a message.
type entry struct {
	message      *message             // nil for an interaction or a change
	interaction  *receivedInteraction // nil for a message or a change
	ready        bool                 // incoming is complete
	chatsVersion int                  // the version of the chat list that must be stored first
	incoming     channels.Incoming
}

func newReceiver(c *Channel, receive channels.Receive, events <-chan event) *receiver {
	return &receiver{
		c: c, state: &c.state, receive: receive, events: events,
		callbacks: make(chan func()), outcomes: make(chan receiveOutcome, maxReceives),
		queues: map[snowflake]*chatQueue{}, searched: map[snowflake]bool{}, pendingGuilds: map[snowflake]snowflake{},
		receiving: map[string]bool{},
		startedAt: time.Now(), receiveRetrier: c.newRetrier("message not received, will retry"),
		chatsRetrier: c.newRetrier("known chats not stored, will retry"),
	}
}

// run handles events and delivers messages until ctx ends.
func (in *receiver) run(ctx context.Context) {
	defer in.background.Wait() //nolint:errcheck // background tasks log their own errors
	if !in.loadChats(ctx) {
		return
	}
	defer in.unmarkUndelivered()
	defer in.awaitReceives(ctx)
	tick := time.NewTimer(0)
	defer tick.Stop()
	for ctx.Err() == nil {
		in.saveChats(ctx)
		in.deliverReady(ctx)
		in.fetchHistory(ctx)
		in.saveCursor(ctx)
		tick.Reset(in.nextDelay())
		select {
		case e := <-in.events:
			in.handleEvent(ctx, e)
		case f := <-in.callbacks:
			f()
		case o := <-in.outcomes:
			in.handleOutcome(ctx, o)
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// unmarkUndelivered leaves undelivered messages to the next Run, which fetches them again.
func (in *receiver) unmarkUndelivered() {
	for _, q := range in.queues {
		for _, e := range q.entries {
			if e.message != nil {
				delete(in.state.accepted, e.message.ID)
			}
		}
	}
}

// nextDelay returns the time until the next retry, at most a minute.
func (in *receiver) nextDelay() time.Duration {
	wait := time.Minute
	if !in.saveChatsAt.IsZero() && !in.savingChats {
		wait = min(wait, time.Until(in.saveChatsAt))
	}
	for _, q := range in.queues {
		if !q.retryAt.IsZero() {
			wait = min(wait, time.Until(q.retryAt))
		}
		if q.history != nil && !q.history.fetching && !q.history.retryAt.IsZero() && len(q.entries) == 0 &&
			in.historyCalls < maxHistoryCalls {
			wait = min(wait, time.Until(q.history.retryAt))
		}
	}
	return max(wait, 0)
}

// runInBackground runs do in a goroutine. The function that do returns runs in the receiver's
// goroutine afterwards, unless it is nil.
func (in *receiver) runInBackground(ctx context.Context, do func() func()) {
	in.background.Go(func() error {
		if after := do(); after != nil {
			select {
			case in.callbacks <- after:
			case <-ctx.Done():
			}
		}
		return nil
	})
}

func (in *receiver) queueOf(id snowflake) *chatQueue {
	q := in.queues[id]
	if q == nil {
		q = &chatQueue{}
		in.queues[id] = q
	}
	return q
}

// watermark returns the ID up to which every message was delivered, or will be once the given entry
// is. It never decreases.
func (in *receiver) watermark(with *entry) snowflake {
	// older messages were decided on at the first run
	mark := max(in.state.newestMessage.minus(reorderMargin), in.state.firstRun)
	for _, q := range in.queues {
		mark = min(mark, lowestPending(q.entries, with), lowestPending(q.live, with))
		if q.history != nil {
			mark = min(mark, q.history.completeUpTo())
		}
	}
	if in.dmLookups > 0 || in.awaitsGuilds() {
		mark = min(mark, in.missedSince)
	}
	return max(mark, in.state.watermark)
}

// lowestPending returns the highest ID below all given entries, leaving out one of them.
func lowestPending(entries []*entry, without *entry) snowflake {
	low := snowflake(math.MaxUint64)
	for _, e := range entries {
		if e != without && e.message != nil {
			low = min(low, e.message.ID-1)
		}
	}
	return low
}

// maxGuildWait bounds how long the watermark waits for an unavailable guild. Nobody can write there
// meanwhile.
const maxGuildWait = 10 * time.Minute

func (in *receiver) awaitsGuilds() bool {
	return len(in.pendingGuilds) > 0 && time.Since(in.sessionStart) < maxGuildWait
}
