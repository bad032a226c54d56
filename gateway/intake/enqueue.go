package intake

import (
	"context"
	"errors"
	"time"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// followTime is how long after a text a forwarded message or an album belongs to it. Apps send both
// at once.
const followTime = time.Second

// enqueuer queues messages for turns.
type enqueuer struct {
	*stage
	controls *controls
	reading  *reading
}

// enqueueMessage adds a message to its chat's queue. The setting whileRunning applies if the store
// reports a running turn. open are the open questions of the chat.
func (e *enqueuer) enqueueMessage(ctx context.Context, in channels.Incoming, set Settings,
	open []store.Question,
) error {
	_, err := e.enqueueOrDrop(ctx, store.ReceiveRequest{In: in}, in, set, open)
	return err
}

// enqueueOrDrop adds the message of a request to its chat's queue. If that is not possible, it
// stores refused, with the reason as the answer.
//
// A message that dismisses a question is never refused because of the running turn: that turn waits
// for the person, so the chat would be blocked.
func (e *enqueuer) enqueueOrDrop(ctx context.Context, request store.ReceiveRequest, refused channels.Incoming,
	set Settings, open []store.Question,
) (store.ReceiveResult, error) {
	in := request.In
	dismissed, err := e.dismissable(ctx, in, open)
	if err != nil {
		return store.ReceiveResult{}, err
	}
	// The turn of a message that is replaced ends.
	request.NotWhileRunning = set.WhileRunning == Reject && len(dismissed) == 0 && in.Replaces == ""
	if err := e.assignAgent(&request); err != nil {
		return store.ReceiveResult{}, err
	}
	how := set.whileRunning(request.Agent)
	request.QueueLimit = set.QueueLimit
	mayJoin := how != Inject || e.o.Lanes.RunningTurn(in.Chat) == nil // a turn may have read an injected message already
	if mayJoin && !in.Pressed && request.Reply == nil {               // a joined message would lose its reply
		request.Gather = set.Gather
		if in.Follows {
			request.Follows, request.FollowsAgent = followTime+in.Waited, e.o.Choice.HasRoutes() && !in.Answerer.Media
		}
	}
	if t := e.o.Lanes.RunningTurn(in.Chat); t != nil && how == Inject && set.QueueLimit > 0 {
		request.QueueLimit += t.InjectedCount() // injected messages stay pending until their turn ends
	}
	result, err := e.acceptMessage(ctx, request)
	if err == nil && result.Disposition == store.Busy && e.runningTurnEnded(in.Chat, result) {
		request.NotWhileRunning = false
		result, err = e.acceptMessage(ctx, request)
	}
	if err != nil {
		return result, err
	}
	switch result.Disposition {
	case store.Busy:
		return result, e.dropMessage(ctx, refused, events.Busy, e.words(in).Text(words.Busy))
	case store.Full:
		return result, e.dropMessage(ctx, refused, events.QueueFull, e.words(in).Text(words.QueueFull, result.Waiting))
	case store.Duplicate:
		return result, nil // it has dismissed its questions before, and must not dismiss a newer one
	case store.Queued:
		e.handleQueued(ctx, how, result)
	case store.Joined:
		if t := e.localTurn(in.Chat, result); t != nil {
			t.MoveBoardDown() // the person's message is below the board
		}
	case store.Claimed, store.Settled:
	}
	return result, errors.Join(err, e.dismissQuestions(ctx, in, dismissed))
}

// dropMessage stores a message that gets no turn, with its answer.
func (e *enqueuer) dropMessage(ctx context.Context, in channels.Incoming, reason, answer string) error {
	secret, err := e.mayBeSecret(ctx, in)
	if err != nil {
		return err
	}
	request := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: reason, Secret: secret}
	if reason == events.RateLimited && answer != "" && !answersPress(in) {
		if request.Answer, err = e.planGivingWay(in, answer); err != nil {
			return err
		}
		answer = ""
	}
	fresh, err := e.storeAnswered(ctx, request, toSender(answer))
	if fresh {
		e.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Reason: reason})
	}
	return err
}

// runningTurnEnded reports whether the turn that is running on disk has ended, and only its outcome
// is not stored yet.
func (e *enqueuer) runningTurnEnded(chat channels.Chat, result store.ReceiveResult) bool {
	return result.Runner == e.o.Store.Member() && e.localTurn(chat, result) == nil
}

// localTurn returns the turn that was running when a message was received, if this member runs it
// and it has not ended.
func (e *enqueuer) localTurn(chat channels.Chat, result store.ReceiveResult) Turn {
	return e.findTurn(chat, result.Running)
}

// handleQueued handles a message that was queued behind a turn.
func (e *enqueuer) handleQueued(ctx context.Context, how WhileRunning, result store.ReceiveResult) {
	inbound := result.Inbound
	in := inbound.In
	// A person who only waits for a free slot, or for the outcome of a turn to be stored, is not
	// told: that mostly takes a moment.
	if result.Running == 0 || e.runningTurnEnded(in.Chat, result) {
		return
	}
	t := e.localTurn(in.Chat, result)
	if e.reading.offerLate(ctx, t, inbound) {
		return
	}
	if t != nil {
		t.MoveBoardDown() // the person's message is below the board
	}
	if how == Inject && t != nil && !answers(t, inbound.Agent, in) {
		how = Queue
	}
	switch how {
	case Inject:
		// The message stays pending until the turn has ended, so that it gets a turn of its own if
		// this one does not read it or is cut off. It must not overtake waiting messages.
		if t == nil || result.Waiting == t.InjectedCount()+1 && t.Inject(inbound) {
			return
		}
	case Interrupt:
		if t != nil {
			t.Cancel(e.o.Interrupted)
		}
		return
	case Queue, Reject:
	}
	e.o.Notices.Announce(inbound)
}

// acceptMessage stores a message, and starts its turn if a slot is free and the chat's queue is
// empty.
func (e *enqueuer) acceptMessage(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	request.Cursor = request.In.Cursor
	result, err := e.o.Lanes.Accept(ctx, request)
	if err != nil {
		return result, err
	}
	if result.Disposition == store.Queued {
		e.o.Events.Report(events.Event{Type: events.Queued, Chat: request.In.Chat, Inbound: result.Inbound.ID})
	}
	if len(request.Answer) > 0 {
		e.o.Outbox.Wake(request.In.Chat)
	}
	return result, nil
}
