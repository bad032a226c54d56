package access

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"nanobot/terminal/acp/view"
)

// Limits of the view that these tests exceed.
const maxQuestionDetail, maxDiff, askGrace = 1500, 4 << 20, 10 * time.Second

func sendUpdate(v *view.View, format string, args ...any) {
	v.Update(fmt.Appendf(nil, format, args...))
}

func sendChunk(v *view.View, text string) {
	raw, _ := json.Marshal(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]string{"type": "text", "text": text}})
	v.Update(raw)
}

func closeView(t *testing.T, v *view.View) {
	t.Helper()
	if err := v.Close(false, nil); err != nil {
		t.Fatal(err)
	}
}
