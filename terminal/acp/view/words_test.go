package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestTheWorkOfAnAgentIsShownInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	turn.Words = words.New(words.Settings{}).For("de")
	v := New(turn, nil)
	var entries []string
	for i := range 40 {
		entries = append(entries, fmt.Sprintf(`{"content":"n%d","status":%q}`, i, []string{"completed", "pending"}[i/20]))
	}
	sendUpdate(v, `{"sessionUpdate":"plan","entries":[%s]}`, strings.Join(entries, ","))
	for i := range 8 {
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"%d","status":"failed","_meta":{"terminal_exit":{"exit_code":3}}}`, i)
	}
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"e","title":"Edit","kind":"edit","status":"completed","content":[{"type":"diff","path":"/a.txt","newText":"%s"}]}`, strings.Repeat("x\\n", 30))
	sendBlock(v, `{"type":"image","mimeType":"image/png","data":""}`)
	closeView(t, v)
	board := r.Last(terminal.Progress)
	for _, want := range []string{"☑ … 20 erledigt", "… 8 weitere", "… 1 früherer Schritt", "🔧 Werkzeug ✗\n│ `Exit-Code: 3`", "✏️ 1 Datei geändert, +30 −0"} {
		if !strings.Contains(board, want) {
			t.Errorf("the board lacks %q: %q", want, board)
		}
	}
	messages := r.Texts(terminal.Message)
	if !slices.Contains(messages, "⚠ Der Agent hat ein Bild gesendet, das nicht angezeigt werden kann: leer.") || !strings.Contains(r.Fold(t).Details, "✏️ `/a.txt` · neu · +30 −0") {
		t.Errorf("the messages are %q", messages)
	}
}
