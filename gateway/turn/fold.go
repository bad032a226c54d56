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
	"nanobot/internal/words"
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
	folds := fold != nil && fold.Steps > 0 && !b.hidden()
	switch {
	case b.id == "" && end != nil && folds && fold.Required: // it could not be sent after all
		if err := b.t.postFold(sending, *fold, 0); err != nil {
			b.t.log.Warn("details of turn not sent", zap.Error(err))
		}
	case b.id == "":
	case end == nil:
		b.remove()
	default:
		e := outbox.EndedBoard{Board: b.t.transientRecord(b.id)}
		if folds {
			m := b.t.foldMessage(sending, *fold, *end)
			if e.Folded = b.t.planBoard(m); fold.Required {
				m.Silent = true
				e.Fallback = outbox.Reply(b.t.inbound, m)
			}
		}
		b.t.stage.o.Outbox.EndBoard(e)
	}
}

// foldMessage returns the message that a board becomes, and stores its details, so that the Details
// button can be answered later.
func (t *Turn) foldMessage(ctx context.Context, fold terminal.Fold, end turnEnd) channels.Message {
	details := store.CutDetails(fold.Details)
	if err := t.stage.o.Store.SaveDetails(context.WithoutCancel(ctx), t.inbound.ID, details); err != nil {
		t.log.Warn("details of turn not stored", zap.Error(err))
	}
	return channels.Message{
		Kind: channels.Answer, Text: foldText(t.words, fold, end), Details: details, DetailsPress: fmt.Sprint(DetailsPress, t.inbound.ID),
	}
}

// postFold posts the fold of a turn without a board as a message that notifies nobody.
func (t *Turn) postFold(ctx context.Context, fold terminal.Fold, sequence int) error {
	m := t.foldMessage(ctx, fold, turnEnd{})
	m.Silent = true
	return t.postMessage(ctx, m, sequence)
}

// foldText sums up a turn in a line, such as "✓ 20 steps · 3 min · 4 files · $0.12". Unknown
// parts are left out, and so is the end of a turn that has not ended.
func foldText(w words.Words, fold terminal.Fold, end turnEnd) string {
	parts := []string{w.Text(words.FoldSteps, fold.Steps)}
	if end.status != "" {
		parts = []string{foldMark(end.status) + " " + parts[0], durationText(end.took)}
	}
	if fold.Files > 0 {
		parts = append(parts, w.Text(words.FoldFiles, fold.Files))
	}
	if fold.Cost != "" {
		parts = append(parts, fold.Cost)
	}
	return strings.Join(parts, " · ")
}

// foldMark returns the sign of how a turn ended.
func foldMark(s terminal.Status) string {
	switch s {
	case terminal.Done:
		return "✓"
	case terminal.Stopped:
		return "⏹"
	case terminal.Failed, terminal.TimedOut:
	}
	return "✗"
}

// hidesBoard reports whether the people of the chat want no board and no progress.
func (t *Turn) hidesBoard(ctx context.Context) bool {
	verbose, err := t.stage.o.Store.Recall(ctx, t.inbound.In.Chat, store.VerboseMemory)
	if err != nil {
		t.log.Warn("cannot read whether the chat wants a board", zap.Error(err))
	}
	return verbose == store.NoBoard
}
