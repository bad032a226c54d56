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
func (out *output) recordNotification(m *outbox.Message) {
	if m.Silent || m.Kind == channels.Progress {
		return
	}
	out.unnotified.Store(m.NotifiesNobody())
}

// postDone posts a short message that notifies people of the end of the turn, if its last answer
// does not. Answers of all chats are sent before it. A turn that is repeated after a crash tells
// its end only once.
func (out *output) postDone(accepting context.Context) {
	since := out.started
	if received := out.inbound.Received; !received.IsZero() && received.Before(since) { // it has waited for another turn
		since = received
	}
	if out.inbound.In.Quiet || !out.unnotified.Load() || time.Since(since) < doneAfter || accepting.Err() != nil {
		return
	}
	worked := out.elapsed()
	m := outbox.Reply(out.inbound, channels.Message{
		Kind: channels.Answer, Text: out.words.Text(words.Done, display.Duration(worked)),
		Notification: channels.Notification{Mention: worked > mentionAfter},
	})
	m.GivesWay, m.Sequence, m.Once = true, outbox.DoneSequence, true
	if err := out.post(accepting, m); err != nil {
		out.log.Warn("chat not notified", zap.Error(err))
	}
}
