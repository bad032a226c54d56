package telegram_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/internal/musttest"
)

// BenchmarkSend compares sending a text through the channel with the floor: a plain http.Post of
// the same text as JSON to the same server.
func BenchmarkSend(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":7,"date":1700000000,"chat":{"id":42,"type":"private"},`+
			`"from":{"id":1,"is_bot":true,"first_name":"bot"},"text":"Hello, bold world.","entities":[{"type":"bold","offset":7,"length":4}]}}`)
	}))
	b.Cleanup(server.Close)
	client := server.Client()
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		const body = `{"chat_id":42,"text":"Hello, bold world.","entities":[{"type":"bold","offset":7,"length":4}],"link_preview_options":{"is_disabled":true}}`
		for b.Loop() {
			resp := musttest.Get(client.Post(server.URL+"/bot1:abc/sendMessage", "application/json", strings.NewReader(body)))(b)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	b.Run("channel", func(b *testing.B) {
		b.ReportAllocs()
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: "1:abc", APIBase: server.URL, Client: client, Unpaced: true, Folder: channelstest.ChatFolders(b.TempDir()),
		}))(b)
		parts := musttest.Get(ch.Plan(channels.Message{Chat: chatOf("42"), Kind: channels.Answer, Text: "Hello, **bold** world."}))(b)
		for b.Loop() {
			if got, err := ch.Send(b.Context(), parts[0]); err != nil || got.ID != "7" {
				b.Fatalf("Send returned %+v, %v", got, err)
			}
		}
	})
}
