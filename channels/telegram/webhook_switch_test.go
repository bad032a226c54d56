package telegram_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

// polls makes of a webhook's bot one that polls, with the same state.
func (r *hookRig) polls(change ...func(*telegram.Options)) *rig {
	r.t.Helper()
	state := func(o *telegram.Options) { o.State = filepath.Join(r.dir, "state") }
	return newRigOn(r.t, r.server, r.dir, append([]func(*telegram.Options){state}, change...)...)
}

func TestALeftOverWebhookIsRemovedToPoll(t *testing.T) {
	t.Parallel()
	hook := newHookRig(t)
	stop := hook.run()
	hook.registered()
	stop()
	hook.server.Say(person, "while nobody was there")
	r := hook.polls()
	r.server.FailNext("deleteWebhook", telegramtest.BadGateway())
	r.run()
	if got := r.wait(1); got[0].Text != "while nobody was there" {
		t.Errorf("received %+v", got)
	}
	calls := r.server.Calls("deleteWebhook")
	if len(calls) != 2 || calls[1].Params["drop_pending_updates"] == "true" {
		t.Errorf("removed by %+v", calls)
	}
}

func TestAWebhookThatSomebodySetsWhileWePollIsTheirs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run()
	r.server.Say(person, "one")
	r.wait(1)
	r.server.FailNext("getUpdates", telegramtest.Refuse(409, "Conflict: can't use getUpdates method while webhook is active"))
	r.server.Say(person, "two")
	r.wait(2) // by the poll that was open; the next one is refused
	r.server.Say(person, "three")
	r.wait(3)
	if n := len(r.server.Calls("deleteWebhook")); n != 0 {
		t.Errorf("it was removed %d times", n)
	}
	if log := logged(t, r.logs); !strings.Contains(log, "somebody has set a webhook") {
		t.Errorf("the log does not tell: %s", log)
	}
}

// What came by webhook and is not received yet was confirmed: polling would never see it again.
func TestAnAlbumThatBeganByWebhookEndsByPolling(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]int{"half of it": 2, "all of it": 4} {
		t.Run(name, func(t *testing.T) {
			hook := newHookRig(t, func(o *telegram.Options) { o.Timing.Quiet = time.Hour })
			hook.front.admit(early)
			hook.server.Album(telegramtest.Post{Chat: person, Text: "look"}, photos(4)...)
			stop := hook.run()
			if !hook.server.AwaitPending(4-early, patience) {
				t.Fatalf("%d are left", hook.server.Pending())
			}
			stop()
			r := hook.polls()
			r.Resume("12345") // from before the webhook
			r.run()
			r.server.Say(person, "and?")
			got := r.wait(2)
			isAlbum(t, got[0], 4, "look")
			if got[1].Text != "and?" {
				t.Errorf("received %+v", got[1])
			}
			for _, in := range got {
				if cursor, _ := strconv.Atoi(in.Cursor); in.Cursor != "" && cursor < 872_000_000 {
					t.Errorf("the cursor goes back to %s", in.Cursor)
				}
			}
		})
	}
}

func TestWhatWasPolledAndNotConfirmedIsTheSameMessageByWebhook(t *testing.T) {
	t.Parallel()
	hook := newHookRig(t)
	r := hook.polls()
	never := make(chan struct{})
	defer close(never)
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{Hang: never})
	r.server.Post(telegramtest.Post{Chat: other, Media: &photos(1)[0]}) // which nothing is confirmed before
	stop := r.run()
	r.server.Say(person, "hello")
	r.server.Album(telegramtest.Post{Chat: person, Text: "look"}, photos(3)...)
	polled := r.wait(2)
	stop()
	hook.run()
	byID := map[string]channels.Incoming{}
	for _, in := range hook.wait(3) {
		byID[in.Chat.ID+"/"+in.ID] = in
	}
	if got := hook.taken(); len(got) != 3 || len(byID) != 3 {
		t.Errorf("received %+v", got)
	}
	for _, before := range polled {
		after := byID[before.Chat.ID+"/"+before.ID]
		if after.Text != before.Text || len(after.Media) != len(before.Media) {
			t.Errorf("polled was %+v, and delivered is %+v", before, after)
		}
	}
}

// Were only a part of an album to come again after a crash, it would be taken for another one.
func TestAnAlbumIsConfirmedAsAWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *telegram.Options) { o.Timing.Quiet = time.Second })
	updates := parts(r.server, 3)
	r.run()
	r.wait(3)
	never := make(chan struct{})
	first := r.server.Inject(updates[0])
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{Hang: never})
	r.server.Post(telegramtest.Post{Chat: other, Text: "a file that takes long", Media: &telegramtest.Media{Kind: "photo", Content: []byte("slow")}})
	r.until(telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) == 4 })
	r.server.Inject(updates[1])
	last := r.server.Inject(updates[2])
	album := r.wait(4)[3]
	isAlbum(t, album, 3, "")
	if cursor, _ := strconv.Atoi(album.Cursor); cursor != first-1 {
		t.Errorf("the album's updates are %d to %d, with one between them that waits, and the cursor is %d", first, last, cursor)
	}
	n := len(r.server.Calls("getUpdates"))
	calls := r.until("getUpdates", func(c []telegramtest.Call) bool { return len(c) >= n+3 })
	if offset := calls[n+2].Int("offset"); offset != int64(first) {
		t.Errorf("%d are confirmed", offset-1)
	}
	close(never)
	r.wait(5)
	r.until("getUpdates", func(c []telegramtest.Call) bool { return c[len(c)-1].Int("offset") == int64(last+1) })
	if got := r.inbox.messages(); len(got) != 5 {
		t.Errorf("received %+v", got)
	}
}
