package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// hangFirstDownload makes the first download hang until the test ends, and waits until it has
// started.
func (r *testChannel) hangFirstDownload() {
	r.t.Helper()
	never := make(chan struct{})
	r.t.Cleanup(func() { close(never) })
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "slow", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.server.WaitForCalls(r.t, telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) == 1 })
}

// Telegram hands out a hundred updates from the first that is not confirmed.
func TestHundredsOfMessagesAreReceivedDuringALongDownload(t *testing.T) {
	r := newTestChannel(t)
	r.start()
	r.hangFirstDownload()
	for i := range 250 {
		r.server.UserSends(other+int64(i), "hello")
	}
	r.server.UserSends(person, "behind it")
	r.WaitForMessages(250)
	r.waitForConfirmation(int64(r.server.InjectUpdate(`{"poll":{}}`)))
	if n := len(r.server.Calls("getUpdates")); n > 260 {
		t.Errorf("%d polls for 252 updates", n)
	}
}

func TestAnAlbumBehindAHundredUpdatesIsWholeAfterARestart(t *testing.T) {
	r := newTestChannel(t)
	stop := r.start()
	r.hangFirstDownload()
	for i := range 97 {
		r.server.UserSends(other+1+int64(i), "hello")
	}
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: other, Text: "three"}, photos(3)...)
	got := r.WaitForMessages(98)
	stop()
	again := newTestChannelOn(t, r.server, r.state)
	for _, in := range got {
		if in.Cursor != "" {
			again.Resume(in.Cursor)
		}
	}
	again.start()
	files := 0
	for _, in := range append(got, again.receivedSoFar()...) {
		files += len(in.Media)
	}
	wanttest.Equal(t, "of 4 files were received:", files, 4)
}

func TestStopDoesNotWaitForADownload(t *testing.T) {
	r := newTestChannel(t)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	r.SendAnswer(channels.Message{Text: "working", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}})
	r.start()
	r.hangFirstDownload()
	r.server.UserSends(person, "behind it")
	r.server.UserPresses(person, person, r.server.BotMessages(person)[0].ID, "/stop")
	r.server.UserSends(person, "/stop now")
	if got := r.WaitForMessages(2); got[0].Press != "/stop" || got[1].Text != "/stop now" {
		t.Errorf("received %+v", got)
	}
}

// Each bot numbers the messages of its private chats and its updates by itself.
func TestAnotherBotsMessagesAreNotTakenForOnesThatWereReceived(t *testing.T) {
	first := newTestChannel(t)
	stop := first.start()
	m := first.server.UserSends(person, "to the first")
	before := first.onlyMessage()
	stop()
	s := telegramtest.New(t)
	s.Bot.ID++
	second := newTestChannelOn(t, s, first.state)
	second.Resume(before.Cursor)
	stop = second.start()
	n := s.UserSends(person, "to the second")
	got := second.onlyMessage()
	if n.ID != m.ID || got.ID == before.ID || got.Text != "to the second" {
		t.Fatalf("message %d is %+v, and message %d is %+v", m.ID, before, n.ID, got)
	}
	answer := second.PlanText("hello")
	answer.ReplyTo = got.ID
	musttest.Get(second.Send(t.Context(), answer))(t)
	if shown := s.BotMessages(person)[0]; shown.ReplyTo == nil || shown.ReplyTo.ID != n.ID {
		t.Errorf("the answer to it is %+v", shown)
	}
	stop()
	again := newTestChannelOn(t, s, first.state) // it is the same bot still
	again.Resume(got.Cursor)
	again.start()
	s.UserSends(person, "once more")
	if next := again.onlyMessage(); next.Text != "once more" || next.ID == got.ID {
		t.Errorf("received %+v", next)
	}
	back := newTestChannelOn(t, first.server, first.state)
	back.start()
	first.server.UserSends(person, "to the first again")
	if all := back.receivedSoFar(); all[len(all)-1].ID != itoa(m.ID+1) {
		t.Errorf("received %+v", all)
	}
}

// Its files are for it alone.
func TestPendingMessagesOfABotAreNotReceivedByAnother(t *testing.T) {
	first := newTestChannel(t)
	stop := first.start()
	first.hangFirstDownload()
	stop()
	second := newTestChannelOn(t, telegramtest.New(t), first.state)
	second.server.Bot.ID++
	stop = second.start()
	second.server.UserSends(person, "hello")
	if got := second.WaitForMessages(1)[0]; got.Text != "hello" || len(first.state.memory.StoredParts()) != 1 {
		t.Errorf("received %+v, and pending are %v", got, first.state.memory.StoredParts())
	}
	if log := second.LogText(); !strings.Contains(log, "messages to another bot are pending") {
		t.Errorf("the log does not tell: %s", log)
	}
	stop()
	back := newTestChannelOn(t, first.server, first.state)
	back.start()
	if got := back.onlyMessage(); got.Text != "slow" || len(got.Media) != 1 {
		t.Errorf("received %+v", got)
	}
}

func TestWithoutAMemoryNothingIsReceived(t *testing.T) {
	r := newTestChannel(t)
	r.SetMemory(nil)
	if err := r.Run(t.Context(), r.Recorder.Receive); err == nil {
		t.Error("Run returned nil")
	}
}
