package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// A message with a Stop button outlives its turn by at most two seconds, as long as the network
// carries out removals: it limits edits, and hardly removals.
const (
	// replaceTimeout is how long the folding of a board, and the replacement of another message, is
	// tried: a chat may have to wait a second for its next edit. After that the message is removed,
	// which may have to give way to other calls for some time.
	replaceTimeout = 1750 * time.Millisecond
	// maxEndDelay is the longest time that the end of a board waits for the messages of its chat.
	// Nothing is lost by removing it before them.
	maxEndDelay = time.Second
)

// EndedBoard is the board, or another transient message, of a turn that has ended.
type EndedBoard struct {
	Board store.Transient // without an ID if the board was not sent
	Ended time.Time       // when the turn has ended; zero: now
	// Folded is the message that the board becomes; nil: the board is removed.
	Folded *channels.Outgoing
	// Fallback is sent if the board cannot be folded, with FoldSequence; nil: nothing is.
	Fallback *Message
	// Stored says that the store has the pending fold of the board. It ends when the network has
	// confirmed what became of the board, so that the next start continues with it after a crash.
	Stored bool
}

// EndBoard folds or removes a transient message of an ended turn in the background, once the
// messages of its chat were sent, but within replaceTimeout. The store's record of the message is
// dropped when the network has confirmed the edit or the removal, so that the next start folds or
// removes a message that was left.
func (box *Outbox) EndBoard(e EndedBoard) {
	editor, ok := box.o.Channels[e.Board.Chat.Channel].(channels.Editor)
	id := messageID{e.Board.Chat, e.Board.ID}
	if !ok || id.id != "" && !box.removals.begin(id) {
		return
	}
	if e.Ended.IsZero() {
		e.Ended = time.Now()
	}
	box.spawn(func(ctx context.Context, task *backgroundTask) {
		defer box.removals.end(id)
		defer box.replacements.forget(id)
		box.removals.awaitAnswersUntil(ctx, task, e.Board.Chat, e.Ended.Add(maxEndDelay))
		if out := box.removals.failedReplacement(ctx, e.Board); e.Folded == nil && out != nil {
			e.Folded = out // it may be all that the chat has of an answer
		}
		if !box.removals.foldBoard(ctx, editor, e) && (ctx.Err() != nil || !box.removals.replaceBoard(ctx, editor, e)) {
			return
		}
		drop := box.o.Store.DropTransient
		if e.Stored {
			drop = box.o.Store.EndFold
		}
		if err := drop(context.WithoutCancel(ctx), e.Board); err != nil {
			box.o.Log.Warn("transient message still recorded", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
		}
	})
}

// foldBoard edits a board into its folded form. It reports whether the network has confirmed that.
func (r *removals) foldBoard(ctx context.Context, editor channels.Editor, e EndedBoard) bool {
	if e.Folded == nil || e.Board.ID == "" {
		return false
	}
	out := *e.Folded
	out.Transient, out.Last = true, true // it gives way to answers
	until := e.Ended.Add(replaceTimeout)
	trying, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err := r.box.networks.tryUntil(trying, e.Board.Chat, time.Until(until), func(ctx context.Context) error {
		return editor.Edit(ctx, e.Board.ID, out)
	})
	if err != nil && ctx.Err() == nil {
		r.box.o.Log.Info("board not folded, it is removed", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
	}
	return err == nil
}

// failedReplacement returns the delivery that was to replace a message and has failed; nil: none.
func (r *removals) failedReplacement(ctx context.Context, transient store.Transient) *channels.Outgoing {
	if transient.Board || transient.ID == "" {
		return nil
	}
	newest, err := r.box.o.Store.Undelivered(ctx, transient.Chat, maxLookedAt)
	i := slices.IndexFunc(newest, func(delivery store.Delivery) bool {
		return delivery.Out.Replace == transient.ID && delivery.State != store.Pending
	})
	if err != nil || i < 0 {
		return nil
	}
	return &newest[i].Out
}

// awaitAnswersUntil waits until the answers of a chat are sent, but not beyond a time.
func (r *removals) awaitAnswersUntil(ctx context.Context, task *backgroundTask, chat channels.Chat, until time.Time) {
	soon, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	r.box.awaitAnswersSent(soon, task, chat)
}

// replaceBoard posts the message that replaces a board which could not be folded, and then removes
// the board. It reports whether the store's record of the board is no longer needed.
func (r *removals) replaceBoard(ctx context.Context, editor channels.Editor, e EndedBoard) bool {
	if err := r.postFallback(ctx, e); err != nil {
		r.box.o.Log.Warn("details of turn not sent", zap.Stringer("chat", e.Board.Chat), zap.Error(err))
		if errors.Is(err, ErrNotStored) {
			return false // the board stays
		}
	}
	return e.Board.ID == "" || r.removeMessage(ctx, editor, e)
}

// postFallback posts the message that replaces a board. The store records that before: the board is
// not folded after a crash, since its details would be shown twice.
func (r *removals) postFallback(ctx context.Context, e EndedBoard) error {
	if e.Fallback == nil {
		return nil
	}
	if e.Stored {
		if err := r.box.o.Store.ReplaceFold(ctx, e.Board.Inbound); err != nil {
			return fmt.Errorf("%w: %w", ErrNotStored, err)
		}
	}
	return r.box.Post(context.WithoutCancel(ctx), e.Fallback) // after a shutdown the next start sends it
}
