package intake

import (
	"context"
	"fmt"
	"slices"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
)

// onlyApprovers is the answer to somebody who is no approver.
const onlyApprovers = "Only approvers can decide this."

// approves reports whether a person may decide where a list of approvers (channel:userid) holds.
// With an empty list everybody may who may talk to the bot.
func approves(list []string, channel, user string) bool {
	return len(list) == 0 || slices.Contains(list, channel+":"+user)
}

// mayAnswer reports whether a person may answer a question. One that permits something is for the
// approvers that the current settings name for the agent that asks. If there is no such agent any
// more, nobody may. That a question is not open any more is for the store to find out.
func (i *Intake) mayAnswer(ctx context.Context, in channels.Incoming, q store.Question) (bool, error) {
	if !q.Approval || q.Closed || q.Expired {
		return true, nil
	}
	name, err := i.askingAgent(ctx, q)
	if err != nil {
		return false, err
	}
	agent, configured := i.o.Settings().Agents[name]
	return configured && approves(agent.Approvers, in.Chat.Channel, in.User.ID), nil
}

// refuseAnswer tells a person that they may not answer a question, and records it once.
func (i *Intake) refuseAnswer(ctx context.Context, in channels.Incoming, q store.Question) error {
	told, err := i.conclude(ctx, store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true}, channels.Message{Text: onlyApprovers})
	if told {
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Unentitled, Run: q.Inbound, Question: q.ID})
	}
	return err
}

// askingAgent names the agent that asks a question: that of its turn, which may run on another
// member, or not yet again after a restart.
func (i *Intake) askingAgent(ctx context.Context, q store.Question) (string, error) {
	if t := i.find(q.Chat, q.Inbound); t != nil {
		return t.Agent(), nil
	}
	asking, _, err := i.o.Store.Inbound(ctx, q.Inbound)
	if err != nil {
		return "", fmt.Errorf("look up the agent that asks: %w", err)
	}
	return asking.Agent, nil
}
