package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// DetailsPress is the prefix of the data of a Details button. The ID of the inbound message
// follows.
const DetailsPress = "details:"

// turnEnd is how a turn ended, for its board.
type turnEnd struct {
	status terminal.Status
	took   time.Duration // without the time spent waiting for people
}

// finishBoard ends the board of a turn that was not cut off.
func (t *Turn) finishBoard(out terminal.Outcome, err error) {
	if err != nil {
		out.Status = terminal.Failed
	}
	t.board.finish(&turnEnd{out.Status, t.elapsed()})
}

// settle folds a board with steps and removes any other, when the messages of the turn were sent.
// The board of a turn that was cut off is removed at once: the next attempt has its own.
func (b *board) settle(sending context.Context) {
	b.mu.Lock()
	end, fold := b.end, b.content.fold
	b.mu.Unlock()
	switch {
	case b.id == "":
	case end == nil:
		b.remove()
	default:
		e := outbox.EndedBoard{Board: b.t.transientRecord(b.id)}
		if fold != nil && fold.Steps > 0 {
			e.Folded = b.t.foldedBoard(sending, *fold, *end)
		}
		b.t.stage.o.Outbox.EndBoard(e)
	}
}

// foldedBoard returns the message that a board becomes, and stores its details, so that the Details
// button can be answered later.
func (t *Turn) foldedBoard(sending context.Context, fold terminal.Fold, end turnEnd) *channels.Outgoing {
	details := store.CutDetails(fold.Details)
	if err := t.stage.o.Store.SaveDetails(context.WithoutCancel(sending), t.inbound.ID, details); err != nil {
		t.log.Warn("details of turn not stored", zap.Error(err))
	}
	return t.planBoard(channels.Message{
		Kind: channels.Answer, Text: foldText(fold, end), Details: details, DetailsPress: fmt.Sprint(DetailsPress, t.inbound.ID),
	})
}

// foldText sums up a turn in a line, such as "✓ 20 steps · 3 min · 4 files · $0.12". Unknown
// parts are left out.
func foldText(fold terminal.Fold, end turnEnd) string {
	mark := map[terminal.Status]string{terminal.Done: "✓", terminal.Stopped: "⏹"}[end.status]
	if mark == "" {
		mark = "✗"
	}
	parts := []string{mark + " " + quantity(fold.Steps, "step"), durationText(end.took)}
	if fold.Files > 0 {
		parts = append(parts, quantity(fold.Files, "file"))
	}
	if fold.Cost != "" {
		parts = append(parts, fold.Cost)
	}
	return strings.Join(parts, " · ")
}

// quantity returns a number with its noun, which has an s in the plural.
func quantity(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// hidesBoard reports whether the people of the chat want no board and no progress.
func (t *Turn) hidesBoard(ctx context.Context) bool {
	verbose, err := t.stage.o.Store.Recall(ctx, t.inbound.In.Chat, store.VerboseMemory)
	if err != nil {
		t.log.Warn("cannot read whether the chat wants a board", zap.Error(err))
	}
	return verbose == store.NoBoard
}
