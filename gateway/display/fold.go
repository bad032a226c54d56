package display

import (
	"context"
	"strings"
	"time"

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
	if b.d.left.Load() {
		return
	}
	b.mu.Lock()
	ended, fold := b.ended, b.fold
	b.mu.Unlock()
	switch {
	case !ended.IsZero() && fold != nil:
		EndFold(b.d.o.Channel, b.d.o.Outbox, store.PendingFold{
			Fold: *fold, Board: b.record(),
			MessageID: b.d.o.Inbound.In.ID, Language: b.d.o.Inbound.In.User.Language,
		}, ended)
	case b.live:
		if !b.answered.Load() { // the turn was cut off
			ended = time.Time{}
		}
		b.d.o.Outbox.EndScreen(sending, b.d.o.Inbound.In.Chat, b.d.o.Inbound.ID, ended)
	case b.id != "":
		b.remove()
	}
}

// EndFold folds the board of a turn that has ended at the given time; zero: before a crash. If that
// is impossible, what no message has of it is sent. ch is nil for a channel that is no longer
// enabled.
func EndFold(ch channels.Channel, box Outbox, f store.PendingFold, ended time.Time) {
	chat := f.Board.Chat
	m := foldMessage(f.Fold, f.Board.Inbound)
	e := outbox.EndedBoard{Board: f.Board, Ended: ended, Stored: true}
	if ch != nil && !f.Replaced {
		m.Chat, m.ReplyTo, m.Language = chat, f.MessageID, f.Language
		e.Folded = planBoard(ch, m)
	}
	if f.Required {
		m.Silent = true
		e.Fallback = onceInsteadOfBoard(store.Inbound{
			ID: f.Board.Inbound,
			In: channels.Incoming{Chat: chat, ID: f.MessageID, User: channels.User{Language: f.Language}},
		}, m)
	}
	box.EndBoard(e)
}

// foldMessage returns the message that a board becomes.
func foldMessage(f store.Fold, inbound int64) channels.Message {
	return channels.Message{
		Kind: channels.Answer, Text: f.Summary, Details: f.Details,
		DetailsPress: press.Details(inbound),
	}
}

// onceInsteadOfBoard returns the message that a turn has instead of a folded board, at most once.
func onceInsteadOfBoard(inbound store.Inbound, m channels.Message) *outbox.Message {
	reply := outbox.Reply(inbound, m)
	reply.Sequence, reply.Once = outbox.FoldSequence, true
	return reply
}

// FoldMessage returns the fold of a turn without a board as a message that notifies nobody, and its
// details, which the Details button shows later. An earlier attempt may have had a board, so that
// the message does not count among the messages of the turn.
func FoldMessage(w words.Words, inbound store.Inbound, fold terminal.Fold) (m *outbox.Message, details string) {
	f := storedFold(w, fold, turnEnd{})
	message := foldMessage(*f, inbound.ID)
	message.Silent = true
	return onceInsteadOfBoard(inbound, message), f.Details
}

// foldText sums up a turn in a line, such as "✓ 20 steps · 3 min · 4 files · $0.12". Unknown
// parts are left out, and so is the end of a turn that has not ended.
func foldText(w words.Words, fold terminal.Fold, end turnEnd) string {
	var parts []string
	if fold.Steps > 0 { // a turn that is repeated after a crash may have none
		parts = append(parts, w.Text(words.FoldSteps, fold.Steps))
	}
	if end.status != "" {
		parts = append(parts, Duration(end.took))
		parts[0] = endings[end.status].mark + " " + parts[0]
	}
	if fold.Files > 0 {
		parts = append(parts, w.Text(words.FoldFiles, fold.Files))
	}
	if fold.Cost != "" {
		parts = append(parts, fold.Cost)
	}
	return strings.Join(parts, " · ")
}
