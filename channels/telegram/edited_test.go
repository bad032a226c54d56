package telegram_test

import (
	"fmt"
	"strconv"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

// describeChanges returns the changes, IDs and texts of messages.
func describeChanges(all []channels.Incoming) (out []string) {
	for _, in := range all {
		out = append(out, fmt.Sprintf("%s%s %s", in.Change, in.ID, in.Text))
	}
	return out
}

func (r *testChannel) expectChanges(want ...string) []channels.Incoming {
	r.t.Helper()
	all := r.receivedSoFar()
	if got := describeChanges(all); fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Fatalf("received %q instead of %q", got, want)
	}
	return all
}

func TestAnEditIsAChangeOfItsMessage(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserSends(person, "delete prod")
	r.server.UserEdits(person, m.ID, "do NOT delete prod")
	r.start()
	id := strconv.Itoa(m.ID)
	got := r.expectChanges(id+" delete prod", "edited"+id+" do NOT delete prod")[1]
	if got.ChangedAt.IsZero() || got.Cursor == "" || got.User.ID != "42" {
		t.Errorf("received %+v", got)
	}
}

func TestAnEditOfAMessageThatWasNotForTheBotIsIgnored(t *testing.T) {
	r := newTestChannel(t)
	unknown := r.server.UserPosts(telegramtest.UserPost{Chat: group, Text: "not for the bot"})
	known := r.server.UserPosts(telegramtest.UserPost{Chat: group, Text: "@nano_test_bot hello"})
	r.server.UserEdits(group, unknown.ID, "@nano_test_bot now it is")
	r.server.UserEdits(group, known.ID, "without a mention")
	r.start()
	id := strconv.Itoa(known.ID)
	r.expectChanges(id+" hello", "edited"+id+" without a mention")
}

func TestAnEditComesAfterTheMessagesThatWaitBeforeIt(t *testing.T) {
	r := newTestChannel(t)
	album := r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "old"}, photos(2)...)
	r.server.UserEdits(person, album[0].ID, "new")
	r.start()
	id := strconv.Itoa(album[0].ID)
	all := r.expectChanges(id+" old", "edited"+id+" new")
	if all[1].Media != nil || len(all[0].Media) != 2 || len(all[0].Pieces) != 2 {
		t.Errorf("received %+v", all)
	}
	if whole := all[0].ApplyEdit(all[1]); whole.Text != "new" || len(whole.Media) != 2 {
		t.Errorf("the edited album is %+v", whole)
	}
}

func TestAnEditedCaptionKeepsTheFile(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "old", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.server.UserEdits(person, m.ID, "new")
	r.start()
	id := strconv.Itoa(m.ID)
	all := r.expectChanges(id+" old", "edited"+id+" new")
	if fmt.Sprint(all[0].Media) != fmt.Sprint(all[1].Media) || len(all[0].Media) != 1 {
		t.Errorf("received %+v", all)
	}
}

func TestALiveLocationIsNotEditedByAPerson(t *testing.T) {
	r := newTestChannel(t)
	m := r.server.UserPosts(telegramtest.UserPost{Chat: person, Location: &telegramtest.Location{Latitude: 1, Longitude: 2}})
	r.server.InjectUpdate(fmt.Sprintf(`{"edited_message":{"message_id":%d,"date":1,"edit_date":2,"chat":{"id":42,"type":"private"},
		"from":{"id":42,"first_name":"Ada"},"location":{"latitude":1.5,"longitude":2}}}`, m.ID))
	r.start()
	r.expectChanges(strconv.Itoa(m.ID) + " Location: 1, 2")
}

func TestAnEditThatWaitsSurvivesARestart(t *testing.T) {
	s, h := telegramtest.New(t), newBotState(t)
	first := newTestChannelOn(t, s, h, func(o *telegram.Options) { waitForFullAlbum(o) })
	album := s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "old"}, photos(2)...)
	s.UserEdits(person, album[0].ID, "new")
	stop := first.start()
	last := int64(s.InjectUpdate(`{"poll":{}}`))
	first.waitForConfirmation(last) // Telegram has forgotten the updates
	stop()
	if got := first.Recorder.Messages(); len(got) != 0 {
		t.Fatalf("received %+v", got)
	}
	second := newTestChannelOn(t, s, h)
	second.Resume(h.memory.Cursor())
	second.start()
	second.WaitForMessages(2)
	id := strconv.Itoa(album[0].ID)
	second.expectChanges(id+" old", "edited"+id+" new")
}
