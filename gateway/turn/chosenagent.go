package turn

import (
	"context"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// agentFor returns the agent for the turn of a message: the one that was chosen when the message
// was received, or the default agent if that one is no longer configured.
func (s *Settings) agentFor(inbound store.Inbound) (name string, a AgentSettings) {
	if a, ok := s.Agents[inbound.Agent]; ok {
		return inbound.Agent, a
	}
	return store.DefaultAgent, s.Agents[store.DefaultAgent]
}

// reportReplacedAgent tells the chat that the chosen agent is no longer configured and another
// agent works on the message.
func (out *output) reportReplacedAgent(accepting context.Context) {
	if out.inbound.Agent == out.agent || out.inbound.Agent == "" {
		return
	}
	out.log.Warn("the chosen agent is no longer configured", zap.String("wanted", out.inbound.Agent),
		zap.String("instead", out.agent))
	if out.inbound.In.Quiet {
		return
	}
	notice := channels.Message{
		Kind:         channels.Answer,
		Text:         out.words.Text(words.AgentGone, out.inbound.Agent, store.DefaultAgent),
		Notification: channels.Notification{Silent: true},
	}
	// one sequence number, so that retries do not repeat it
	if err := out.postMessage(accepting, notice, outbox.ReportSequence); err != nil {
		out.log.Warn("chat not notified", zap.Error(err))
	}
}
