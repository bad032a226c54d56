package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap/zapcore"
)

func TestAnAgentsTokenIdentifiesItsOwnChatOnly(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `echo "token $NANOBOT_CHAT_TOKEN"`)
	fx.start()
	tokens := map[string]string{}
	for _, chat := range []string{"1", "2"} {
		fx.net.UserWrites(chat, "u", "hello")
		tokens[chat] = strings.TrimPrefix(fx.awaitText(chat, "token ").Text, "token ")
		of, found, err := fx.store.ChatOfToken(t.Context(), tokens[chat])
		if err != nil || !found || of.String() != "net:"+chat {
			t.Errorf("the token of chat %s leads to %s, %t, %v", chat, of, found, err)
		}
	}
	if tokens["1"] == tokens["2"] {
		t.Error("two chats have the same token")
	}
	fx.awaitIdle("1")
	fx.awaitReceipts()
	fx.stop()
	fx.start()
	fx.net.UserWrites("1", "u", "again")
	fx.expect("1", "token "+tokens["1"], "token "+tokens["1"])
	for _, e := range fx.logs.All() {
		if line := fmt.Sprint(e.Message, e.ContextMap()); e.Level > zapcore.DebugLevel && strings.Contains(line, tokens["1"]) {
			t.Errorf("the token is in the log: %s", line)
		}
	}
}
