package telegram_test

import (
	"strconv"
	"strings"
	"testing"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// switchToPolling returns a channel for the same bot and state that polls.
func (r *webhookChannel) switchToPolling(change ...func(*telegram.Options)) *testChannel {
	r.t.Helper()
	return newTestChannelOn(r.t, r.server, r.state, change...)
}

func TestALeftOverWebhookIsRemovedToPoll(t *testing.T) {
	t.Parallel()
	hook := newWebhookChannel(t)
	stop := hook.start()
	hook.waitForRegistration()
	stop()
	hook.server.UserSends(person, "while nobody was there")
	r := hook.switchToPolling()
	r.server.FailNext("deleteWebhook", telegramtest.BadGateway())
	r.start()
	if got := r.WaitForMessages(1); got[0].Text != "while nobody was there" {
		t.Errorf("received %+v", got)
	}
	calls := r.server.Calls("deleteWebhook")
	if len(calls) != 2 || calls[1].Params["drop_pending_updates"] == "true" {
		t.Errorf("removed by %+v", calls)
	}
}

func TestAWebhookThatSomebodySetsWhileWePollIsTheirs(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	r.start()
	r.server.UserSends(person, "one")
	r.WaitForMessages(1)
	for range 2 { // one of them may be the request for more after a text
		r.server.FailNext("getUpdates", telegramtest.ErrorResponse(409, "Conflict: can't use getUpdates method while webhook is active"))
	}
	r.server.UserSends(person, "two")
	r.WaitForMessages(2) // by the poll that was open; the next one is refused
	r.server.UserSends(person, "three")
	r.WaitForMessages(3)
	wanttest.Equal(t, "it was removed … times:", len(r.server.Calls("deleteWebhook")), 0)
	if log := r.LogText(); !strings.Contains(log, "another program has set a webhook") {
		t.Errorf("the log does not tell: %s", log)
	}
}

// What came by webhook and is not received yet was confirmed: polling would never see it again.
func TestAnAlbumThatBeganByWebhookEndsByPolling(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]int{"half of it": 2, "all of it": 4} {
		t.Run(name, func(t *testing.T) {
			hook := newWebhookChannel(t)
			hook.proxy.letThrough(early)
			hook.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(4)...)
			stop := hook.start()
			if !hook.server.AwaitPending(4-early, waitLimit) {
				t.Fatalf("%d are left", hook.server.PendingUpdates())
			}
			stop()
			r := hook.switchToPolling()
			r.Resume("12345") // from before the webhook
			r.start()
			r.server.UserSends(person, "and?")
			got := r.WaitForMessages(2)
			expectAlbum(t, got[0], 4, "look")
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

func TestPolledPendingMessagesAreReceivedOnceInWebhookMode(t *testing.T) {
	t.Parallel()
	hook := newWebhookChannel(t)
	r := hook.switchToPolling()
	never := make(chan struct{})
	defer close(never)
	r.server.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	r.server.UserPosts(telegramtest.UserPost{Chat: other, Text: "slow", Media: &photos(1)[0]})
	stop := r.start()
	r.server.UserSends(person, "hello")
	r.WaitForMessages(1) // otherwise the text may belong to the album
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(3)...)
	expectAlbum(t, r.WaitForMessages(2)[1], 3, "look")
	stop()
	hook.start()
	r.server.UserSends(person, "and?")
	hook.WaitForMessages(2)
	hook.waitForNoParts()
	for _, in := range hook.receivedAll() {
		if in.Text != "slow" && in.Text != "and?" {
			t.Errorf("received again: %+v", in)
		}
	}
}
