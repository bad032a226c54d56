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
	"nanobot/internal/wanttest"
)

func photos(n int) []telegramtest.Media {
	var out []telegramtest.Media
	for i := range n {
		out = append(out, telegramtest.Media{Kind: "photo", Content: fmt.Appendf(nil, "photo %d", i)})
	}
	return out
}

// expectAlbum fails the test unless a message is an album of n photos in order.
func expectAlbum(t *testing.T, in channels.Incoming, n int, text string) {
	t.Helper()
	if in.Text != text || len(in.Media) != n {
		t.Fatalf("received %+v", in)
	}
	for i, path := range in.Media {
		expectContent(t, path, fmt.Sprintf("photo %d", i))
	}
}

func TestAnAlbumIsOneMessageWithItsFilesInOrderAndTheCaption(t *testing.T) {
	for _, captioned := range []int{0, 2} {
		r := newTestChannel(t)
		media := photos(4)
		media[captioned].Caption = "my holiday"
		m := r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person}, media...)
		r.start()
		got := r.WaitForMessages(1)[0]
		expectAlbum(t, got, 4, "my holiday")
		wanttest.Equal(t, "its id is", got.ID, strconv.Itoa(m[0].ID))
	}
}

// fullAlbum is the number of photos that complete an album at once, without a quiet time.
const fullAlbum = 10

// waitForFullAlbum makes the channel wait for a full album, so that the speed of the parts does not
// matter.
func waitForFullAlbum(o *telegram.Options) { o.Timing.Quiet = time.Hour }

// shortQuiet makes an album complete as soon as no further part arrives.
func shortQuiet(o *telegram.Options) { o.Timing.Quiet = time.Millisecond }

func TestAFullAlbumIsNotWaitedFor(t *testing.T) {
	r := newTestChannel(t, waitForFullAlbum)
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "ten"}, photos(fullAlbum)...)
	r.start()
	expectAlbum(t, r.WaitForMessages(1)[0], fullAlbum, "ten")
}

// sendAlbumSlowly offers the parts of an album one by one, as a slow upload does.
func sendAlbumSlowly(s *telegramtest.Server, n int) []string {
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
	r := newTestChannel(t, waitForFullAlbum)
	updates := sendAlbumSlowly(r.server, fullAlbum)
	before := len(updates)
	r.start()
	r.WaitForMessages(before) // the photos as they were put on the server
	first := r.server.InjectUpdate(updates[0])
	r.waitForConfirmation(int64(first))
	r.server.InjectUpdate(updates[1])
	r.server.UserSends(other, "meanwhile")
	if got := r.WaitForMessages(before + 1)[before]; got.Text != "meanwhile" {
		t.Fatalf("update %d is open, and received is %+v", first, got)
	}
	for _, u := range updates[2:] {
		r.waitForConfirmation(int64(r.server.InjectUpdate(u))) // each by a poll of its own
	}
	expectAlbum(t, r.WaitForMessages(before + 2)[before+1], fullAlbum, "")
	wanttest.Equal(t, "messages were received:", len(r.receivedSoFar()), before+2)
}

func TestWhatFollowsAnAlbumInItsChatComesBehindIt(t *testing.T) {
	r := newTestChannel(t)
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(2)...)
	r.server.UserSends(person, "what do you say?")
	r.start()
	got := r.WaitForMessages(2)
	expectAlbum(t, got[0], 2, "look")
	if got[1].Text != "what do you say?" {
		t.Errorf("received %+v", got[1])
	}
}

func TestAnAlbumThatIsCutOffByARestartIsOneMessage(t *testing.T) {
	s := telegramtest.New(t)
	h := newBotState(t)
	first := newTestChannelOn(t, s, h, waitForFullAlbum)
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(3)...)
	stop := first.start()
	s.UserSends(other, "meanwhile")
	got := first.WaitForMessages(1)
	first.waitForConfirmation(int64(s.InjectUpdate(`{"poll":{}}`))) // the album as well: polling would not see it again
	stop()
	if len(got) != 1 || got[0].Text != "meanwhile" {
		t.Fatalf("received %+v", got)
	}
	second := newTestChannelOn(t, s, h)
	second.Resume(got[0].Cursor)
	second.start()
	second.WaitForMessages(1) // though Telegram has nothing more to say, for as long as a poll may take
	expectAlbum(t, second.onlyMessage(), 3, "look")
}

func TestADownloadThatIsCutOffByTheEndIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t)
	h := newBotState(t)
	never := make(chan struct{})
	defer close(never)
	s.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	first := newTestChannelOn(t, s, h)
	s.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(2)...)
	stop := first.start()
	first.server.WaitForCalls(first.t, telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) > 0 })
	stop()
	if got := first.Recorder.Messages(); len(got) != 0 {
		t.Fatalf("received %+v", got)
	}
	second := newTestChannelOn(t, s, h)
	second.start()
	got := second.WaitForMessages(1)[0]
	expectAlbum(t, got, 2, "look")
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(got.Media[0]), ".*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestAnAlbumInAGroupIsTakenIfOnePartSpeaksToTheBot(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.start()
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: group, Text: "not for you"}, photos(2)...)
	media := photos(3)
	media[1].Caption = "@nano_test_bot sort these"
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: group}, media...)
	expectAlbum(t, r.WaitForMessages(1)[0], 3, "sort these")
}
