package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// maxFoldDelay is the longest time that the folding of a board waits for the messages of its
	// turn. Nothing is lost by folding it before them.
	maxFoldDelay = 30 * time.Second
	// foldTimeout is how long an edit that folds a board is tried, and removeTimeout how long the
	// removal of a board is tried. After that the next start removes it.
	foldTimeout, removeTimeout = 5 * time.Minute, 24 * time.Hour
	// maxBoardPause bounds the wait between tries, unless the network says how long to wait.
	maxBoardPause = 30 * time.Second
	// firstSentPoll and maxSentPoll bound how often the store is asked whether all messages of a
	// turn were sent.
	firstSentPoll, maxSentPoll = 20 * time.Millisecond, 2 * time.Second
	// idleDelay is how long Idle waits for the end of a board. Most take less; the next start
	// removes the boards that take longer.
	idleDelay = 3 * time.Second
)

// EndedBoard is the board of a turn that has ended.
type EndedBoard struct {
	Board store.Transient
	// Folded is the message that the board becomes; nil: the board is removed.
	Folded *channels.Outgoing
	// Fallback is sent if the board cannot be folded; nil: nothing is.
	Fallback *Message
}

// EndBoard folds or removes the board of an ended turn in the background, once the messages of the
// turn were sent. The store's record of the board is dropped when the network has confirmed the
// edit or the removal, so that the next start removes a board that was left.
func (o *Outbox) EndBoard(e EndedBoard) {
	editor, ok := o.o.Channels[e.Board.Chat.Channel].(channels.Editor)
	if !ok {
		return
	}
	o.spawnLong(func(ctx context.Context) {
		if !o.foldBoard(ctx, editor, e) && !(o.postFallback(ctx, e) && o.removeBoard(ctx, editor, e.Board)) {
			return
		}
		if err := o.o.Store.DropTransient(context.WithoutCancel(ctx), e.Board); err != nil {
			o.o.Log.Warn("board still recorded", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
		}
	})
}

// spawnLong has Run execute a background task, which Idle waits for no longer than idleDelay.
func (o *Outbox) spawnLong(task func(ctx context.Context)) {
	o.addTo(&o.background, 1)
	release := sync.OnceFunc(func() { o.addTo(&o.background, -1) })
	timer := time.AfterFunc(idleDelay, release)
	taken := o.tasks.Go(func(ctx context.Context) {
		defer release()
		defer timer.Stop()
		task(ctx)
	})
	if !taken {
		timer.Stop()
		release()
	}
}

// foldBoard edits a board into its folded form. It reports whether the network has confirmed that.
func (o *Outbox) foldBoard(ctx context.Context, editor channels.Editor, e EndedBoard) bool {
	if e.Folded == nil {
		return false
	}
	o.awaitSent(ctx, e.Board.Inbound, maxFoldDelay)
	out := *e.Folded
	out.Transient = true // it gives way to answers
	err := tryUntil(ctx, foldTimeout, func(ctx context.Context) error { return editor.Edit(ctx, e.Board.ID, out) })
	if err != nil && ctx.Err() == nil {
		o.o.Log.Info("board not folded, it is removed", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
	}
	return err == nil
}

// postFallback posts the message that replaces a board which could not be folded. It reports false
// if the board has to stay.
func (o *Outbox) postFallback(ctx context.Context, e EndedBoard) bool {
	if e.Fallback == nil {
		return true
	}
	err := o.Post(context.WithoutCancel(ctx), e.Fallback) // after a shutdown the next start sends it
	if err != nil {
		o.o.Log.Warn("details of turn not sent", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
	}
	return err == nil || !errors.Is(err, ErrNotStored)
}

// removeBoard removes a board once the messages of its turn were sent. It reports false if the next
// start has to remove it.
func (o *Outbox) removeBoard(ctx context.Context, editor channels.Editor, b store.Transient) bool {
	o.awaitSent(ctx, b.Inbound, removeTimeout)
	err := tryUntil(ctx, removeTimeout, func(ctx context.Context) error { return editor.Remove(ctx, b.Chat, b.ID) })
	if err == nil {
		return true
	}
	var se *channels.SendError
	permanent := errors.As(err, &se) && se.Permanent
	if ctx.Err() == nil || permanent {
		o.o.Log.Warn("board not removed", zap.Stringer("chat", b.Chat), zap.Error(err))
	}
	return permanent
}

// awaitSent waits until no message of a turn is pending or being sent, or for the given time.
func (o *Outbox) awaitSent(ctx context.Context, inbound int64, limit time.Duration) {
	until := time.Now().Add(limit)
	for pause := firstSentPoll; ; pause = min(2*pause, maxSentPoll) {
		counts, err := o.o.Store.CountDeliveries(ctx, []int64{inbound})
		if err == nil && counts[inbound][store.Pending]+counts[inbound][store.Sending] == 0 || time.Now().After(until) {
			return
		}
		if !retry.Sleep(ctx, pause) {
			return
		}
	}
}

// tryUntil makes a network call until it succeeds, is refused permanently or limit has passed.
func tryUntil(ctx context.Context, limit time.Duration, call func(ctx context.Context) error) error {
	until := time.Now().Add(limit)
	for pause := firstBackoff; ; pause = min(2*pause, maxBoardPause) {
		if err := ctx.Err(); err != nil {
			return err
		}
		callCtx, cancel := context.WithTimeout(ctx, CallTimeout)
		err := call(callCtx)
		cancel()
		var se *channels.SendError
		if err == nil || errors.As(err, &se) && se.Permanent {
			return err
		}
		wait := max(RetryAfter(err), pause)
		if time.Now().Add(wait).After(until) || !retry.Sleep(ctx, wait) {
			return err
		}
	}
}
