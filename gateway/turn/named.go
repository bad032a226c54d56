package turn

import (
	"context"
	"fmt"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

// agentOf returns the agent that runs the turn of a message: the one that was chosen when the
// message was received, or the default agent if that one is not configured any more.
func (s *Settings) agentOf(inbound store.Inbound) (name string, a Agent) {
	if a, ok := s.Agents[inbound.Agent]; ok {
		return inbound.Agent, a
	}
	return store.DefaultAgent, s.Agents[store.DefaultAgent]
}

// tellReplaced tells the person that another agent works on the message than the one it was written
// to: the settings have changed while it waited.
func (t *Turn) tellReplaced(listening context.Context) {
	if t.inbound.Agent == t.agent || t.inbound.Agent == "" {
		return
	}
	t.log.Warn("the agent is not configured any more", zap.String("wanted", t.inbound.Agent), zap.String("instead", t.agent))
	notice := channels.Message{Kind: channels.Answer, Text: AgentGone(t.inbound.Agent)}
	if err := t.say(listening, notice, outbox.ReportSequence); err != nil { // once, however often it is run
		t.log.Warn("chat not told", zap.Error(err))
	}
}

// AgentGone is what a person is told whose agent is not configured any more.
func AgentGone(name string) string {
	return fmt.Sprintf("The agent %s is not configured any more; %s answers.", name, store.DefaultAgent)
}
