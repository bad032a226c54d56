package telegram_test

import (
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
)

// hang makes the first download take until the test ends, and waits for it.
func (r *rig) hang() {
	r.t.Helper()
	never := make(chan struct{})
	r.t.Cleanup(func() { close(never) })
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "slow", Media: &telegramtest.Media{Kind: "document", Name: "a.txt", Content: []byte("x")}})
	r.until(telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) == 1 })
}

// Telegram hands out a hundred updates from the first that is not confirmed.
func TestHundredsOfMessagesAreHeardWhileADownloadTakesLong(t *testing.T) {
	r := newRig(t)
	r.run()
	r.hang()
	for i := range 250 {
		r.server.UserSends(other+int64(i), "hello")
	}
	r.server.UserSends(person, "behind it")
	r.wait(250)
	r.confirmed(int64(r.server.InjectUpdate(`{"poll":{}}`)))
	if n := len(r.server.Calls("getUpdates")); n > 260 {
		t.Errorf("%d polls for 252 updates", n)
	}
}

func TestAnAlbumBehindAHundredUpdatesIsWholeAfterARestart(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	r.hang()
	for i := range 97 {
		r.server.UserSends(other+1+int64(i), "hello")
	}
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: other, Text: "three"}, photos(3)...)
	got := r.wait(98)
	stop()
	again := newRigOn(t, r.server, r.home)
	for _, in := range got {
		if in.Cursor != "" {
			again.Resume(in.Cursor)
		}
	}
	again.run()
	files := 0
	for _, in := range append(got, again.settled()...) {
		files += len(in.Media)
	}
	if files != 4 {
		t.Errorf("%d of 4 files were received", files)
	}
}

func TestStopDoesNotWaitForADownload(t *testing.T) {
	r := newRig(t)
	r.SetMenu([]channels.Command{{Name: "stop", Help: "stop it"}})
	r.tell(channels.Message{Text: "working", Buttons: []channels.Button{{Label: "Stop", Data: "/stop"}}})
	r.run()
	r.hang()
	r.server.UserSends(person, "behind it")
	r.server.UserPresses(person, person, r.server.BotMessages(person)[0].ID, "/stop")
	r.server.UserSends(person, "/stop now")
	if got := r.wait(2); got[0].Press != "/stop" || got[1].Text != "/stop now" {
		t.Errorf("received %+v", got)
	}
}

// Each bot numbers the messages of its private chats and its updates by itself.
func TestAnotherBotsMessagesAreNotTakenForOnesThatWereReceived(t *testing.T) {
	first := newRig(t)
	stop := first.run()
	m := first.server.UserSends(person, "to the first")
	before := first.only()
	stop()
	s := telegramtest.New(t)
	s.Bot.ID++
	second := newRigOn(t, s, first.home)
	second.Resume(before.Cursor)
	stop = second.run()
	n := s.UserSends(person, "to the second")
	got := second.only()
	if n.ID != m.ID || got.ID == before.ID || got.Text != "to the second" {
		t.Fatalf("message %d is %+v, and message %d is %+v", m.ID, before, n.ID, got)
	}
	answer := second.hello("hello")
	answer.ReplyTo = got.ID
	if _, err := second.Send(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	if shown := s.BotMessages(person)[0]; shown.ReplyTo == nil || shown.ReplyTo.ID != n.ID {
		t.Errorf("the answer to it is %+v", shown)
	}
	stop()
	again := newRigOn(t, s, first.home) // it is the same bot still
	again.Resume(got.Cursor)
	again.run()
	s.UserSends(person, "once more")
	if next := again.only(); next.Text != "once more" || next.ID == got.ID {
		t.Errorf("received %+v", next)
	}
	back := newRigOn(t, first.server, first.home)
	back.run()
	first.server.UserSends(person, "to the first again")
	if all := back.settled(); all[len(all)-1].ID != itoa(m.ID+1) {
		t.Errorf("received %+v", all)
	}
}

// Its files are for it alone.
func TestWhatWaitsForABotIsNotReceivedByAnother(t *testing.T) {
	first := newRig(t)
	stop := first.run()
	first.hang()
	stop()
	second := newRigOn(t, telegramtest.New(t), first.home)
	second.server.Bot.ID++
	stop = second.run()
	second.server.UserSends(person, "hello")
	if got := second.wait(1)[0]; got.Text != "hello" || len(first.home.memory.StoredParts()) != 1 {
		t.Errorf("received %+v, and pending are %v", got, first.home.memory.StoredParts())
	}
	if log := second.logged(); !strings.Contains(log, "messages to another bot are pending") {
		t.Errorf("the log does not tell: %s", log)
	}
	stop()
	back := newRigOn(t, first.server, first.home)
	back.run()
	if got := back.only(); got.Text != "slow" || len(got.Media) != 1 {
		t.Errorf("received %+v", got)
	}
}

func TestWithoutAMemoryNothingIsReceived(t *testing.T) {
	r := newRig(t)
	r.SetMemory(nil)
	if err := r.Run(t.Context(), r.inbox.Receive); err == nil {
		t.Error("Run returned nil")
	}
}
