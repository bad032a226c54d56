package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
)

// geminiName is the name of Gemini CLI in its response to initialize, and geminiModeUpdate begins a
// message in which it reports its new mode.
const geminiName, geminiModeUpdate = "gemini-cli", "[MODE_UPDATE] "

// translateModeUpdate returns the protocol's update for such a message, which is not for people,
// and any other update as it is. A model can write the same text, so it counts only from Gemini CLI
// and for one of its modes, and never in a replay, which is about earlier times. The caller holds
// mu.
func (s *session) translateModeUpdate(u update) update {
	if u.Kind != "agent_message_chunk" || s.replaying || s.agent.initResponse.Info.Name != geminiName {
		return u
	}
	var chunk struct {
		Content rpc.Optional[rpc.Block] `json:"content"`
	}
	_ = json.Unmarshal(u.Raw, &chunk) // an update without content is handled later
	mode, ok := strings.CutPrefix(chunk.Content.V.Text, geminiModeUpdate)
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
