package telegramtest_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

func TestAnAlbumIsSeveralUpdatesWithOneGroup(t *testing.T) {
	s := telegramtest.New(t)
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person}, telegramtest.Media{Kind: "photo", Width: 1600, Height: 1200},
		telegramtest.Media{Kind: "video", Name: "a.mp4", Caption: "look"})
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "two papers"}, telegramtest.Media{Kind: "document", Name: "a.pdf"},
		telegramtest.Media{Kind: "document", Name: "b.pdf"})
	got := getUpdates(t, s, nil)
	if len(got) != 4 {
		t.Fatalf("%d updates", len(got))
	}
	a, b, c, d := got[0].Message, got[1].Message, got[2].Message, got[3].Message
	if a.MediaGroupID == "" || a.MediaGroupID != b.MediaGroupID || c.MediaGroupID != d.MediaGroupID || a.MediaGroupID == c.MediaGroupID {
		t.Errorf("groups %q %q %q %q", a.MediaGroupID, b.MediaGroupID, c.MediaGroupID, d.MediaGroupID)
	}
	if a.Caption != "" || b.Caption != "look" || c.Caption != "two papers" || d.Caption != "" || a.ID >= b.ID {
		t.Errorf("captions %q %q %q %q", a.Caption, b.Caption, c.Caption, d.Caption)
	}
	if n := len(a.Photo); n != 4 || a.Photo[n-1].Width != 1600 || a.Photo[0].Width != 90 || a.Photo[0].FileID == a.Photo[3].FileID {
		t.Errorf("sizes %+v", a.Photo)
	}
}

func TestEveryKindOfFileHasItsMessageField(t *testing.T) {
	s := telegramtest.New(t)
	for _, kind := range []string{"photo", "video", "animation", "audio", "voice", "video_note", "document", "sticker"} {
		t.Run(kind, func(t *testing.T) {
			s.UserPosts(telegramtest.UserPost{Chat: person, Text: "look", Media: &telegramtest.Media{Kind: kind, Name: "a.bin", Content: []byte(kind)}})
			all := getUpdates(t, s, nil)
			m := all[len(all)-1].Message
			f, ok := s.File(m.File().FileID)
			if m.Kind() != kind || m.Caption != "look" || !ok || string(f.Content) != kind || m.File().FileSize != int64(len(kind)) {
				t.Errorf("%+v with file %+v", m, f)
			}
			named := kind == "video" || kind == "animation" || kind == "audio" || kind == "document"
			if (m.File().FileName == "a.bin") != named {
				t.Errorf("its name is %q", m.File().FileName)
			}
		})
	}
	s.UserPosts(telegramtest.UserPost{Chat: person, Contact: &telegramtest.Contact{PhoneNumber: "+1", FirstName: "A"}})
	s.UserPosts(telegramtest.UserPost{Chat: person, Location: &telegramtest.Location{Latitude: 1, Longitude: 2}})
	all := getUpdates(t, s, params{"offset": -2})
	if all[0].Message.Kind() != "contact" || all[1].Message.Kind() != "location" {
		t.Errorf("got %+v", all)
	}
}

func TestCommandsAndMentionsAreFoundInUTF16(t *testing.T) {
	s := telegramtest.New(t)
	m := s.UserPosts(telegramtest.UserPost{Chat: group, Text: "👍 /stop@" + s.Bot.Username + " and @somebody"})
	at := len(" /stop@ and ") + len(s.Bot.Username) + 2
	want := []telegramtest.Entity{
		{Type: "bot_command", Offset: 3, Length: len("/stop@") + len(s.Bot.Username)},
		{Type: "mention", Offset: at, Length: len("@somebody")},
	}
	if fmt.Sprint(m.Entities) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", m.Entities, want)
	}
}

func TestPrivacyModeHidesUnaddressedMessages(t *testing.T) {
	s := telegramtest.New(t)
	s.AddChat(telegramtest.Chat{ID: group})
	ours := mustCall(t, s, "sendMessage", params{"chat_id": group, "text": "I am here"}).message(t)
	s.SetPrivacyMode(true)
	if me := string(mustCall(t, s, "getMe", nil).Result); !strings.Contains(me, `"can_read_all_group_messages":false`) {
		t.Errorf("getMe says %s", me)
	}
	s.UserPosts(telegramtest.UserPost{Chat: group, Text: "not for you"})
	s.UserPosts(telegramtest.UserPost{Chat: group, Text: "/stop@other_bot"})
	s.UserPosts(telegramtest.UserPost{Chat: group, Text: "hey @" + s.Bot.Username})
	s.UserPosts(telegramtest.UserPost{Chat: group, Text: "/start"})
	s.UserPosts(telegramtest.UserPost{Chat: group, Text: "a reply", ReplyTo: ours.ID})
	s.UserSends(person, "in private")
	var texts []string
	for _, u := range getUpdates(t, s, nil) {
		texts = append(texts, u.Message.Text)
	}
	wanttest.Equal(t, "the bot sees", strings.Join(texts, "|"), "hey @"+s.Bot.Username+"|/start|a reply|in private")
}

func TestTopicsRepliesEditsAndChannels(t *testing.T) {
	s := telegramtest.New(t)
	topic := s.AddTopic(forum, "plans")
	s.UserPosts(telegramtest.UserPost{Chat: forum, Topic: topic, Text: "in the topic"})
	first := s.UserPosts(telegramtest.UserPost{Chat: super, From: 7, Text: "first"})
	s.UserPosts(telegramtest.UserPost{Chat: super, From: 8, Text: "second", ReplyTo: first.ID})
	s.UserEdits(super, first.ID, "changed")
	s.AddChat(telegramtest.Chat{ID: -1005, Type: "channel"})
	s.UserSends(-1005, "news")
	got := getUpdates(t, s, nil)
	if m := got[0].Message; m.TopicCreated == nil || m.Thread != topic {
		t.Errorf("creation %+v", m)
	}
	if m := got[1].Message; m.Thread != topic || !m.IsTopicMessage || m.ReplyTo.TopicCreated == nil || !m.Chat.IsForum {
		t.Errorf("in a topic, all seems to reply to its creation: %+v", m)
	}
	if m := got[3].Message; m.ReplyTo.Text != "first" || m.IsTopicMessage || m.Thread != first.ID || m.From.ID != 8 {
		t.Errorf("a reply in a supergroup has a thread, too: %+v", m)
	}
	if m := got[4].Edited; m.Text != "changed" || m.EditDate == 0 || m.ID != first.ID {
		t.Errorf("edit %+v", m)
	}
	if m := got[5].ChannelPost; m.From != nil || m.SenderChat.ID != -1005 {
		t.Errorf("channel post %+v", m)
	}
	sent := mustCall(t, s, "sendMessage", params{"chat_id": forum, "message_thread_id": topic, "text": "answer"}).message(t)
	wanttest.Equal(t, "sent to thread", sent.Thread, topic)
	expectError(t, callJSON(t, s, "sendMessage", params{"chat_id": forum, "message_thread_id": 1, "text": "a"}), 400, "message thread not found")
}

func TestMembershipAndMigrationAreUpdates(t *testing.T) {
	s := telegramtest.New(t)
	s.Block(person)
	s.Readmit(person)
	s.Migrate(group, super)
	got := getUpdates(t, s, nil)
	if got[0].Member.New.Status != "kicked" || got[1].Member.New.Status != "member" {
		t.Errorf("membership %+v %+v", got[0].Member, got[1].Member)
	}
	if got[2].Message.MigrateTo != super || got[3].Message.MigrateFrom != group || got[3].Message.Chat.ID != super {
		t.Errorf("migration %+v %+v", got[2].Message, got[3].Message)
	}
	mustCall(t, s, "sendMessage", params{"chat_id": person, "text": "welcome back"})
}
