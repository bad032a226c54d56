package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

func TestAnAgentsTokenIdentifiesItsOwnChatOnly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `echo "token $NANOBOT_CHAT_TOKEN"`)
	r.start()
	tokens := map[string]string{}
	for _, chat := range []string{"1", "2"} {
		r.net.UserWrites(chat, "u", "hello")
		tokens[chat] = strings.TrimPrefix(r.awaitText(chat, "token ").Text, "token ")
		of, found, err := r.store.ChatOfToken(t.Context(), tokens[chat])
		if err != nil || !found || of.String() != "net:"+chat {
			t.Errorf("the token of chat %s leads to %s, %t, %v", chat, of, found, err)
		}
	}
	if tokens["1"] == tokens["2"] {
		t.Error("two chats have the same token")
	}
	r.awaitIdle("1")
	r.awaitReceipts()
	r.stop()
	r.start()
	r.net.UserWrites("1", "u", "again")
	r.expect("1", "token "+tokens["1"], "token "+tokens["1"])
	for _, e := range r.logs.All() {
		if line := fmt.Sprint(e.Message, e.ContextMap()); e.Level > zapcore.DebugLevel && strings.Contains(line, tokens["1"]) {
			t.Errorf("the token is in the log: %s", line)
		}
	}
}
