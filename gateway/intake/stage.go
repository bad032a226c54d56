package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// stage has what the parts of intake share.
type stage struct{ o Options }

// storeWithoutTurn stores a message that needs no turn, for a reason of package store, with the
// gateway's answer, if there is one.
func (s *stage) storeWithoutTurn(ctx context.Context, in channels.Incoming, reason, answer string) error {
	request := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: reason}
	_, err := s.storeAnswered(ctx, request, toSender(answer))
	return err
}

// reply is the gateway's answer to a message that needs no turn.
type reply struct {
	channels.Message
	// forSender says that it concerns only the sender, such as a refusal. After the press of a
	// button, only the person who has pressed it sees the reply; in a group where the press cannot
	// be answered so, nobody does.
	forSender bool
}

// toSender is a reply that concerns only the sender.
func toSender(text string) reply { return reply{channels.Message{Text: text}, true} }

// answersPress reports whether a message is a press that is answered without a message.
func answersPress(in channels.Incoming) bool {
	return in.Press != "" && (in.Respond != nil || in.Group)
}

// respond shows a text to the person who has pressed a button, where the press can be answered.
func respond(in channels.Incoming, text string) {
	if in.Respond != nil && text != "" {
		in.Respond(text)
	}
}

// storeAnswered stores a message that needs no turn, with its answer and its changes, in one
// transaction. It reports false for a duplicate.
func (s *stage) storeAnswered(ctx context.Context, request store.ReceiveRequest, answer reply) (bool, error) {
	in := request.In
	answer.Silent = true // who has just written or pressed a button is looking at the chat
	var err error
	byPress := answer.forSender && answersPress(in)
	if answer.Text != "" && !byPress {
		if request.Answer, err = s.planAnswer(in, answer.Message); err != nil {
			return false, err
		}
	}
	result, err := s.o.Store.Receive(ctx, request)
	if err != nil {
		return false, fmt.Errorf("store message: %w", err)
	}
	settled := result.Disposition == store.Settled
	if settled && byPress {
		respond(in, answer.Text)
	}
	if settled && (len(request.Answer) > 0 || request.Resend != 0) {
		s.o.Outbox.Wake(in.Chat)
	}
	s.removeMessages(result.Secrets)
	if request.Restart != 0 || result.Released {
		s.o.Lanes.Wake()
	}
	return settled, nil
}

// words returns the words in the language of a message's sender.
func (s *stage) words(in channels.Incoming) words.Words { return s.o.Words.For(in.User.Language) }

// planAnswer splits the gateway's answer to a message into network calls. It uses the text, the
// buttons and the notification of answer.
func (s *stage) planAnswer(in channels.Incoming, answer channels.Message) ([]channels.Outgoing, error) {
	answer.Chat, answer.Kind, answer.ReplyTo, answer.Language = in.Chat, channels.Answer, in.ID, in.User.Language
	parts, err := s.o.Channels[in.Chat.Channel].Plan(answer)
	if err != nil {
		return nil, fmt.Errorf("plan answer: %w", err)
	}
	return parts, nil
}

// planGivingWay is planAnswer for a silent answer that gives way to others.
func (s *stage) planGivingWay(in channels.Incoming, text string) ([]channels.Outgoing, error) {
	parts, err := s.planAnswer(in, channels.Message{Text: text, Notification: channels.Notification{Silent: true}})
	for i := range parts {
		parts[i].GivesWay = true
	}
	return parts, err
}

// removeMessages deletes messages with secrets from their chat, in the background.
func (s *stage) removeMessages(secrets []store.Transient) {
	for _, transient := range secrets {
		s.o.Outbox.Remove(transient)
	}
}

// findTurn returns the turn of an inbound message, or nil if another member runs it or its agent
// has ended.
func (s *stage) findTurn(chat channels.Chat, inbound int64) Turn {
	if t := s.o.Lanes.RunningTurn(chat); t != nil && t.Inbound().ID == inbound {
		return t
	}
	s.o.Lanes.AwaitClaim() // a turn runs on disk for a moment before it can be found in memory
	if t := s.o.Lanes.RunningTurn(chat); t != nil && t.Inbound().ID == inbound {
		return t
	}
	return nil
}
