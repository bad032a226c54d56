package intake

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// mayAnswer reports whether a person may answer a question. Questions that grant a permission are
// for the approvers of the asking agent in the current settings; if the agent is no longer
// configured, nobody may answer. Whether the question is still open is decided by the store.
func (s *stage) mayAnswer(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	if !q.Approval || q.Closed || q.Expired {
		return true, nil
	}
	name, err := s.askingAgent(ctx, q)
	if err != nil {
		return false, err
	}
	return s.o.Access.MayApprove(ctx, name, sender(in), role.Approve)
}

// refuseAnswer tells a person who may not answer a question, and audits that once. It reports false
// if the person may answer.
func (i *Intake) refuseAnswer(ctx context.Context, in channels.Incoming, q store.Question) (refused bool, err error) {
	if may, err := i.mayAnswer(ctx, in, q); may || err != nil {
		return false, err
	}
	told, err := i.storeAnswered(ctx, store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true, Reason: store.ByRole},
		toSender(i.words(in).Text(words.OnlyApprovers)))
	if told {
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Unentitled, Run: q.Inbound, Question: q.ID})
	}
	return true, err
}

// askingAgent returns the name of the agent that asks a question. Its turn may run on another
// member, or not have restarted yet.
func (s *stage) askingAgent(ctx context.Context, q store.Question) (string, error) {
	if t := s.findTurn(q.Chat, q.Inbound); t != nil {
		return t.Agent(), nil
	}
	asking, _, err := s.o.Store.Inbound(ctx, q.Inbound)
	if err != nil {
		return "", fmt.Errorf("look up the agent that asks: %w", err)
	}
	return asking.Agent, nil
}
