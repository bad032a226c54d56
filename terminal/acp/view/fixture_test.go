package view

import (
	"encoding/json"
	"fmt"
	"testing"
)

func sendUpdate(v *View, format string, args ...any) { v.Update(fmt.Appendf(nil, format, args...)) }

func sendChunk(v *View, text, message string) {
	raw, _ := json.Marshal(map[string]any{
		"sessionUpdate": "agent_message_chunk", "messageId": message, "content": map[string]string{"type": "text", "text": text},
	})
	v.Update(raw)
}

// splitEvery splits a text after every n characters.
func splitEvery(s string, n int) (pieces []string) {
	for i, r := range []rune(s) {
		if i%n == 0 {
			pieces = append(pieces, "")
		}
		pieces[len(pieces)-1] += string(r)
	}
	return pieces
}

func closeView(t *testing.T, v *View) {
	t.Helper()
	if err := v.Close(false, nil); err != nil {
		t.Fatal(err)
	}
}
