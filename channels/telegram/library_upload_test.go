package telegram_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/telegram/telegramtest"
)

// This is why upload.go streams files itself: several uploads of 50 MB at the same time would be
// more memory than all the rest of the daemon.
func TestTheLibraryReadsAFileIntoMemoryBeforeItConnects(t *testing.T) {
	content := strings.NewReader(strings.Repeat("x", 1<<20))
	left := -1
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		left = content.Len() // nobody has asked for the body of the request yet
		_, _ = io.Copy(io.Discard, req.Body)
		return respond(req, 200, `{"ok":true,"result":{"message_id":1,"date":1,"chat":{"id":42,"type":"private"}}}`), nil
	})}
	b, err := bot.New(telegramtest.DefaultToken, bot.WithSkipGetMe(), bot.WithHTTPClient(0, client))
	if err != nil {
		t.Fatal(err)
	}
	file := &models.InputFileUpload{Filename: "a.bin", Data: content}
	if _, err := b.SendDocument(t.Context(), &bot.SendDocumentParams{ChatID: person, Document: file}); err != nil || left != 0 {
		t.Errorf("%d bytes of the file are not read when the request begins (%v)", left, err)
	}
}
