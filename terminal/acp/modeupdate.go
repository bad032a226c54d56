package acp

import (
	"encoding/json"
	"strings"
)

// geminiModeUpdate begins a message in which Gemini CLI reports its new mode.
const geminiModeUpdate = "[MODE_UPDATE] "

// translateModeUpdate returns the protocol's update for such a message, which is not for people,
// and any other update as it is.
func translateModeUpdate(u update) update {
	if u.Kind != "agent_message_chunk" {
		return u
	}
	var chunk struct {
		Content optional[block] `json:"content"`
	}
	_ = json.Unmarshal(u.Raw, &chunk) // an update without content is handled later
	mode, ok := strings.CutPrefix(chunk.Content.v.Text, geminiModeUpdate)
	if !ok || len(strings.Fields(mode)) != 1 {
		return u
	}
	raw, err := json.Marshal(map[string]string{"sessionUpdate": "current_mode_update", "currentModeId": mode})
	if err != nil {
		return u
	}
	return update{Kind: "current_mode_update", Raw: raw}
}
