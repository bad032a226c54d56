package telegram_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func photos(n int) []telegramtest.Media {
	var out []telegramtest.Media
	for i := range n {
		out = append(out, telegramtest.Media{Kind: "photo", Content: fmt.Appendf(nil, "photo %d", i)})
	}
	return out
}

// isAlbum fails the test unless a message is an album of n photos in order.
func isAlbum(t *testing.T, in channels.Incoming, n int, text string) {
	t.Helper()
	if in.Text != text || len(in.Media) != n {
		t.Fatalf("received %+v", in)
	}
	for i, path := range in.Media {
		contains(t, path, fmt.Sprintf("photo %d", i))
	}
}

func TestAnAlbumIsOneMessageWithItsFilesInOrderAndTheCaption(t *testing.T) {
	for _, captioned := range []int{0, 2} {
		r := newRig(t)
		media := photos(4)
		media[captioned].Caption = "my holiday"
		m := r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person}, media...)
		r.run()
		got := r.wait(1)[0]
		isAlbum(t, got, 4, "my holiday")
		if got.ID != strconv.Itoa(m[0].ID) {
			t.Errorf("its id is %s", got.ID)
		}
	}
}

// full is how many photos make an album complete at once, without any time of quiet.
const full = 10

// endless makes the channel wait for a full album. How fast the parts come then decides nothing.
func endless(o *telegram.Options) { o.Timing.Quiet = time.Hour }

// quick makes an album complete as soon as no part follows at once.
func quick(o *telegram.Options) { o.Timing.Quiet = time.Millisecond }

func TestAFullAlbumIsNotWaitedFor(t *testing.T) {
	r := newRig(t, endless)
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "ten"}, photos(full)...)
	r.run()
	isAlbum(t, r.wait(1)[0], full, "ten")
}

// parts offers an album part by part, as one whose uploads take their time.
func parts(s *telegramtest.Server, n int) []string {
	var out []string
	for i := range n {
		m := s.UserPosts(telegramtest.UserPost{Chat: other, Media: &telegramtest.Media{Kind: "photo", Content: fmt.Appendf(nil, "photo %d", i)}})
		file := m.File().FileID
		out = append(out, fmt.Sprintf(`{"message":{"message_id":%d,"date":1,"media_group_id":"g1","chat":{"id":42,"type":"private"},
			"from":{"id":42,"first_name":"Ada"},"photo":[{"file_id":%q,"width":10,"height":10}]}}`, 1000+i, file))
	}
	return out
}

func TestAnAlbumAcrossPollsIsOneMessageAndOthersGoAhead(t *testing.T) {
	r := newRig(t, endless)
	updates := parts(r.server, full)
	before := len(updates)
	r.run()
	r.wait(before) // the photos as they were put on the server
	first := r.server.InjectUpdate(updates[0])
	r.confirmed(int64(first))
	r.server.InjectUpdate(updates[1])
	r.server.UserSends(other, "meanwhile")
	if got := r.wait(before + 1)[before]; got.Text != "meanwhile" {
		t.Fatalf("update %d is open, and received is %+v", first, got)
	}
	for _, u := range updates[2:] {
		r.confirmed(int64(r.server.InjectUpdate(u))) // each by a poll of its own
	}
	isAlbum(t, r.wait(before + 2)[before+1], full, "")
	if got := len(r.settled()); got != before+2 {
		t.Errorf("%d messages were received", got)
	}
}

func TestWhatFollowsAnAlbumInItsChatComesBehindIt(t *testing.T) {
	r := newRig(t)
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(2)...)
	r.server.UserSends(person, "what do you say?")
	r.run()
	got := r.wait(2)
	isAlbum(t, got[0], 2, "look")
	if got[1].Text != "what do you say?" {
		t.Errorf("received %+v", got[1])
	}
}

func TestAnAlbumThatIsCutOffByARestartIsOneMessage(t *testing.T) {
	s := telegramtest.New(t)
	h := newHome(t)
	first := newRigOn(t, s, h, endless)
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(3)...)
	stop := first.run()
	s.UserSends(other, "meanwhile")
	got := first.wait(1)
	first.confirmed(int64(s.InjectUpdate(`{"poll":{}}`))) // the album as well: polling would not see it again
	stop()
	if len(got) != 1 || got[0].Text != "meanwhile" {
		t.Fatalf("received %+v", got)
	}
	second := newRigOn(t, s, h)
	second.Resume(got[0].Cursor)
	second.run()
	second.wait(1) // though Telegram has nothing more to say, for as long as a poll may take
	isAlbum(t, second.only(), 3, "look")
}

func TestADownloadThatIsCutOffByTheEndIsMadeAgain(t *testing.T) {
	s := telegramtest.New(t)
	h := newHome(t)
	never := make(chan struct{})
	defer close(never)
	s.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	first := newRigOn(t, s, h)
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(2)...)
	stop := first.run()
	first.until(telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) > 0 })
	stop()
	if got := first.inbox.Messages(); len(got) != 0 {
		t.Fatalf("received %+v", got)
	}
	second := newRigOn(t, s, h)
	second.run()
	got := second.wait(1)[0]
	isAlbum(t, got, 2, "look")
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(got.Media[0]), ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestAnAlbumInAGroupIsTakenIfOnePartSpeaksToTheBot(t *testing.T) {
	r := newRig(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.run()
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: group, Text: "not for you"}, photos(2)...)
	media := photos(3)
	media[1].Caption = "@nano_test_bot sort these"
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: group}, media...)
	isAlbum(t, r.wait(1)[0], 3, "sort these")
}
