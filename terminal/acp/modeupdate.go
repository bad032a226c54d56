package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
)

// translateModeUpdate returns the protocol's update for a message that reports the new mode, which
// is not for people, and any other update as it is. A model can write the same text, so it counts
// only for one of the agent's modes, and never in a replay, which is about earlier times. The
// caller holds mu.
func (s *session) translateModeUpdate(u update) update {
	if u.Kind != "agent_message_chunk" || s.replaying || s.agent.quirks.modeUpdate == "" {
		return u
	}
	var chunk struct {
		Content rpc.Optional[rpc.Block] `json:"content"`
	}
	_ = json.Unmarshal(u.Raw, &chunk) // an update without content is handled later
	mode, ok := strings.CutPrefix(chunk.Content.V.Text, s.agent.quirks.modeUpdate)
	c := s.details.find(modeChoice)
	if !ok || c == nil || !slices.ContainsFunc(c.options, func(o form.Option) bool { return o.Value == mode }) {
		return u
	}
	raw, err := json.Marshal(map[string]string{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	if err != nil {
		return u
	}
	return update{u.session, "current_mode_update", raw}
}
