package telegramtest_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func newLibraryBot(t *testing.T, s *telegramtest.Server) *bot.Bot {
	t.Helper()
	s.AcceptAnyMultipart()
	b := musttest.Get(bot.New(s.Token, bot.WithServerURL(s.URL), bot.WithHTTPClient(0, client(t))))(t)
	return b
}

func TestACommonLibraryUnderstandsTheAnswers(t *testing.T) {
	s := telegramtest.New(t)
	b := newLibraryBot(t, s)
	s.AddUser(telegramtest.User{ID: person})
	m, err := b.SendMessage(t.Context(), &bot.SendMessageParams{
		ChatID: person, Text: "hello", Entities: []models.MessageEntity{{Type: models.MessageEntityTypeBold, Length: 5}},
		LinkPreviewOptions: &models.LinkPreviewOptions{IsDisabled: bot.True()},
		ReplyMarkup: &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{
			{{Text: "stop", CallbackData: "stop"}},
		}},
	})
	if err != nil || m.Text != "hello" || m.Entities[0].Length != 5 || m.ReplyMarkup == nil {
		t.Fatalf("%+v: %v", m, err)
	}
	picture := telegramtest.PNG(8, 6)
	sent, err := b.SendMediaGroup(t.Context(), &bot.SendMediaGroupParams{ChatID: person, Media: []models.InputMedia{
		&models.InputMediaPhoto{Media: "attach://a.png", MediaAttachment: bytes.NewReader(picture), Caption: "look"},
		&models.InputMediaVideo{Media: "attach://b.mp4", MediaAttachment: bytes.NewReader([]byte("video"))},
	}})
	if err != nil || len(sent) != 2 || sent[0].Caption != "look" || sent[1].Video == nil {
		t.Fatalf("%+v: %v", sent, err)
	}
	doc, err := b.SendDocument(t.Context(), &bot.SendDocumentParams{
		ChatID: person, Document: &models.InputFileUpload{Filename: "a.txt", Data: bytes.NewReader([]byte("text"))},
	})
	if err != nil || doc.Document.FileName != "a.txt" {
		t.Fatalf("%+v: %v", doc, err)
	}
	file, err := b.GetFile(t.Context(), &bot.GetFileParams{FileID: doc.Document.FileID})
	if err != nil || file.FilePath == "" || file.FileSize != 4 {
		t.Fatalf("%+v: %v", file, err)
	}
	if chat, err := b.GetChat(t.Context(), &bot.GetChatParams{ChatID: person}); err != nil || chat.ID != person {
		t.Fatalf("%+v: %v", chat, err)
	}
}

func TestACommonLibraryUnderstandsTheErrors(t *testing.T) {
	s := telegramtest.New(t)
	b := newLibraryBot(t, s)
	s.AddChat(telegramtest.Chat{ID: group})
	s.FailNext("sendMessage", telegramtest.RateLimited(9))
	hello := &bot.SendMessageParams{ChatID: group, Text: "hello"}
	_, err := b.SendMessage(t.Context(), hello)
	var many *bot.TooManyRequestsError
	if !errors.As(err, &many) || many.RetryAfter != 9 {
		t.Errorf("got %v", err)
	}
	s.Migrate(group, super)
	_, err = b.SendMessage(t.Context(), hello)
	var moved *bot.MigrateError
	if !errors.As(err, &moved) || int64(moved.MigrateToChatID) != super {
		t.Errorf("got %v", err)
	}
}

func TestACommonLibraryUnderstandsTheUpdates(t *testing.T) {
	s := telegramtest.New(t)
	for _, kind := range []string{"photo", "video", "animation", "audio", "voice", "video_note", "document", "sticker"} {
		s.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{Kind: kind, Name: "a.bin", Content: []byte(kind), Duration: 3}})
	}
	m := s.UserSends(person, "hello @"+s.Bot.Username)
	s.UserPresses(person, 0, m.ID, "yes")
	s.UserPresses(person, 0, 999, "gone")
	s.UserEdits(person, m.ID, "changed")
	s.UserPosts(telegramtest.UserPost{Chat: forum, Topic: s.AddTopic(forum, "plans"), Text: "in the topic"})
	s.Block(person)
	s.Migrate(group, super)
	got := decodeJSON[[]models.Update](t, mustCall(t, s, "getUpdates", nil).Result)
	if len(got) != 17 {
		t.Fatalf("%d updates", len(got))
	}
	if got[1].Message.Video.Duration != 3 || got[2].Message.Animation == nil || got[7].Message.Sticker == nil {
		t.Errorf("files %+v", got[:8])
	}
	if got[9].CallbackQuery.Message.Message == nil || got[10].CallbackQuery.Message.InaccessibleMessage == nil {
		t.Errorf("queries %+v %+v", got[9].CallbackQuery.Message, got[10].CallbackQuery.Message)
	}
	if got[13].Message.MessageThreadID == 0 || got[14].MyChatMember.NewChatMember.Type != models.ChatMemberTypeBanned {
		t.Errorf("got %+v", got[13:])
	}
}
