package turn

import (
	"context"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/outbox"
	"nanobot/internal/words"
)

// doneAfter is how long a person waits for an answer before its end is told in a message of its
// own, if the answer notifies nobody. A person who has waited less is still looking.
const doneAfter = 5 * time.Second

// recordNotification records whether a posted message notifies people. A streamed answer is sent
// silently and then edited, which notifies nobody.
func (t *Turn) recordNotification(m *outbox.Message) {
	if m.Silent || m.Kind == channels.Progress {
		return
	}
	t.unnotified.Store(t.display.EditsAnswers() && m.Edited())
}

// postDone posts a short message that notifies people of the end of the turn, if its last answer
// does not. Answers of all chats are sent before it. A turn that is repeated after a crash tells
// its end only once.
func (t *Turn) postDone(accepting context.Context) {
	since := t.started
	if received := t.inbound.Received; !received.IsZero() && received.Before(since) { // it has waited for another turn
		since = received
	}
	if !t.unnotified.Load() || time.Since(since) < doneAfter || accepting.Err() != nil {
		return
	}
	worked := t.elapsed()
	m := outbox.Reply(t.inbound, channels.Message{
		Kind: channels.Answer, Text: t.words.Text(words.Done, display.Duration(worked)), Notification: channels.Notification{Mention: worked > mentionAfter},
	})
	m.GivesWay, m.Sequence, m.Once = true, outbox.DoneSequence, true
	if err := t.post(accepting, m); err != nil {
		t.log.Warn("chat not notified", zap.Error(err))
	}
}
