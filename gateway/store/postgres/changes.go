package postgres

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// changeArgs is a change of an earlier message as the function change_message takes it.
type changeArgs struct {
	Chat    string   `json:"chat"`
	Message string   `json:"message"`
	Part    *partArg `json:"part,omitempty"`
	// ID is the inbound message, and Op its version for which the change was decided.
	ID int64 `json:"id"`
	Op int64 `json:"op"`
	// Withdraw, Replace and Rerun say what is done. Rerun has the IDs of the network's messages.
	Withdraw bool           `json:"withdraw,omitempty"`
	Replace  bool           `json:"replace,omitempty"`
	Rerun    []string       `json:"rerun,omitempty"`
	Incoming string         `json:"incoming,omitempty"`
	Agent    string         `json:"agent,omitempty"`
	Answer   []outboundArgs `json:"answer,omitempty"`
}

// ChangeMessage applies an edit or a deletion of an earlier message.
func (s inbox) ChangeMessage(ctx context.Context, r store.ChangeRequest) (store.ChangeResult, error) {
	what := fmt.Sprintf("change message %s of %s", r.In.ID, r.In.Chat)
	part := partOf(r.In)
	change := prepared.Change{ChangeRequest: r}
	_, change.In = prepared.ExtractPart(r.In)
	for {
		before, found, err := readOne[inboundRow](ctx, s.state, what, selectInbound+byMessage, r.In.Chat.String(), r.In.ID)
		if err != nil {
			return store.ChangeResult{}, err
		}
		var decision prepared.Decision
		if found {
			decision = change.Decide(before.Inbound)
		}
		args := changeArgs{Chat: r.In.Chat.String(), Message: r.In.ID, Part: part}
		if decision.Effect != store.NoEffect {
			args = changeArgs{
				Chat: args.Chat, Message: args.Message, Part: part, ID: before.ID, Op: before.Op,
				Withdraw: decision.Effect == store.Withdrawn, Replace: decision.Replaces, Rerun: decision.Messages,
				Incoming: prepared.JSON(&decision.Inbound.In), Agent: decision.Inbound.Agent,
				Answer: prepareEach(r.Answers[decision.Effect]),
			}
		} else if part == nil {
			s.moveCursor(r.In.Chat.Channel, r.Cursor)
			return store.ChangeResult{}, nil
		}
		var answer struct{ ID, Now int64 }
		err = s.change(ctx, changeRequest{
			what: what, function: "change_message", scope: ofChat(r.In.Chat), args: args,
		}, &answer)
		if err != nil {
			return store.ChangeResult{}, err
		}
		if answer.Now == 0 { // the message has changed meanwhile
			continue
		}
		s.moveCursor(r.In.Chat.Channel, r.Cursor)
		i, now := &decision.Inbound, fromMicros(answer.Now)
		if decision.Effect == store.StoredForRerun {
			i.ID, i.Received = answer.ID, now
		}
		if decision.Effect == store.StoredForRerun || decision.Effect == store.Withdrawn {
			i.Ended = now
		}
		return decision.ChangeResult, nil
	}
}

// Message returns the inbound message with the newest content of a message of the network.
func (s inbox) Message(ctx context.Context, chat channels.Chat, id string) (store.Inbound, bool, error) {
	return readOne[store.Inbound](ctx, s.state, fmt.Sprintf("read message %s of %s", id, chat), selectInbound+byMessage,
		chat.String(), id)
}
