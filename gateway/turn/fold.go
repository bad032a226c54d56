package turn

import (
	"context"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// turnEnd is how a turn ended, for its board.
type turnEnd struct {
	status terminal.Status
	took   time.Duration // without the time spent waiting for people
}

// finishBoard ends the board of a turn that was not cut off. What stays of it is stored with the
// outcome of the turn.
func (t *Turn) finishBoard(out terminal.Outcome, err error) {
	if err != nil {
		out.Status = terminal.Failed
	}
	b := t.board
	b.mu.Lock()
	fold := b.content.fold
	b.mu.Unlock()
	if fold == nil || fold.Steps == 0 || b.hidden() {
		b.finish(nil)
		return
	}
	b.finish(storedFold(t.words, *fold, turnEnd{out.Status, t.elapsed()}))
}

// storedFold returns a fold in its stored form.
func storedFold(w words.Words, f terminal.Fold, end turnEnd) *store.Fold {
	return &store.Fold{Summary: foldText(w, f, end), Details: store.CutDetails(f.Details), Required: f.Required}
}

// settle folds a board with steps and removes any other, when the messages of the turn were sent.
// The board of a turn that was cut off is removed at once: the next attempt has its own.
func (b *board) settle(sending context.Context) {
	select {
	case <-b.stored: // else a crash could leave a folded board and a turn that is run again
	case <-sending.Done():
		return // the next start does it
	}
	b.mu.Lock()
	ended, fold := b.ended, b.fold
	b.mu.Unlock()
	switch {
	case ended && fold != nil:
		b.t.stage.endFold(store.PendingFold{Fold: *fold, Board: b.t.transientRecord(b.id), MessageID: b.t.inbound.In.ID, Language: b.t.inbound.In.User.Language})
	case b.id != "":
		b.remove()
	}
}

// endFold folds the board of an ended turn. If that is impossible, what no message has of it is
// sent.
func (s *Stage) endFold(f store.PendingFold) {
	chat := f.Board.Chat
	m := foldMessage(f.Fold, f.Board.Inbound)
	e := outbox.EndedBoard{Board: f.Board, Stored: true}
	if ch, ok := s.o.Channels[chat.Channel]; ok && !f.Replaced {
		m.Chat, m.ReplyTo, m.Language = chat, f.MessageID, f.Language
		e.Folded = planBoard(ch, m)
	}
	if f.Required {
		m.Silent = true
		e.Fallback = onceInsteadOfBoard(store.Inbound{ID: f.Board.Inbound, In: channels.Incoming{Chat: chat, ID: f.MessageID, User: channels.User{Language: f.Language}}}, m)
	}
	s.o.Outbox.EndBoard(e)
}

// foldMessage returns the message that a board becomes.
func foldMessage(f store.Fold, inbound int64) channels.Message {
	return channels.Message{Kind: channels.Answer, Text: f.Summary, Details: f.Details, DetailsPress: press.Details(inbound)}
}

// onceInsteadOfBoard returns the message that a turn has instead of a folded board, at most once.
func onceInsteadOfBoard(inbound store.Inbound, m channels.Message) *outbox.Message {
	reply := outbox.Reply(inbound, m)
	reply.Sequence, reply.Once = outbox.FoldSequence, true
	return reply
}

// postFold posts the fold of a turn without a board as a message that notifies nobody, and stores
// its details, so that the Details button can be answered later. An earlier attempt may have had a
// board, so that the message does not count among the messages of the turn.
func (t *Turn) postFold(ctx context.Context, fold terminal.Fold) error {
	f := storedFold(t.words, fold, turnEnd{})
	if err := t.stage.o.Store.SaveDetails(context.WithoutCancel(ctx), t.inbound.ID, f.Details); err != nil {
		t.log.Warn("details of turn not stored", zap.Error(err))
	}
	m := foldMessage(*f, t.inbound.ID)
	m.Silent = true
	return t.post(ctx, onceInsteadOfBoard(t.inbound, m))
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
