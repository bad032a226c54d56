package telegram_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// Telegram delivers the second part when the first was answered, so each is answered before the
// album is complete.
func TestAnAlbumByWebhookIsOneMessageAndWhatFollowsComesBehindIt(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	r.start()
	media := photos(fullAlbum)
	media[2].Caption = "my holiday"
	m := r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person}, media...)
	r.server.UserSends(person, "what do you say?")
	got := r.WaitForMessages(2)
	expectAlbum(t, got[0], fullAlbum, "my holiday")
	if got[0].ID != strconv.Itoa(m[0].ID) || got[0].Cursor != "" || got[1].Text != "what do you say?" {
		t.Errorf("received %+v", got)
	}
	r.receivedAll()
	for _, d := range r.server.Deliveries() {
		if d.Status != 200 {
			t.Errorf("the deliveries are %+v", r.server.Deliveries())
		}
	}
}

func TestAFullAlbumByWebhookIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "ten"}, photos(fullAlbum)...)
	r.start()
	expectAlbum(t, r.WaitForMessages(1)[0], fullAlbum, "ten")
}

func TestAnAlbumByWebhookThatIsCutOffByARestartIsOneMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parts, early int
		quiet        time.Duration // of the second run
	}{
		"after its first part": {fullAlbum, 1, time.Hour}, // it ends with the other parts
		"after all its parts":  {3, 3, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			first := newWebhookChannel(t, func(o *telegram.Options) { o.Timing.Resend = time.Hour })
			first.proxy.letThrough(c.early)
			first.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(c.parts)...)
			stop := first.start()
			if !first.server.AwaitPending(c.parts-c.early, waitLimit) {
				t.Fatalf("%d are left", first.server.PendingUpdates())
			}
			stop()
			if got := first.Recorder.Messages(); len(got) != 0 {
				t.Fatalf("received %+v", got)
			}
			// Nothing but the other parts, or that there are none, ends the waiting.
			second := first.restart(func(o *telegram.Options) { o.Timing.Resend, o.Timing.Quiet = 30*time.Hour, c.quiet })
			second.start()
			first.proxy.letThrough(-1)
			expectAlbum(t, second.WaitForMessages(1)[0], c.parts, "look")
			if got := second.receivedAll(); len(got) != 1 {
				t.Errorf("received %+v", got)
			}
		})
	}
}

// A part whose answer was lost comes again when the album was received, at once or to the next run.
func TestAPartOfAnAlbumThatComesAgainIsNoMessage(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.WebhookSecret = "s" })
	updates := sendAlbumSlowly(r.server, fullAlbum)
	stop := r.start()
	r.WaitForMessages(fullAlbum) // the photos as they were put on the server
	for i, u := range updates {
		updates[i] = fmt.Sprintf(`{"update_id":%d,%s`, 5000+i, u[1:])
		r.deliverUntilAccepted("s", updates[i])
		r.deliverUntilAccepted("s", updates[i]) // also while the album is not complete
	}
	expectAlbum(t, r.WaitForMessages(fullAlbum + 1)[fullAlbum], fullAlbum, "")
	again := func(r *webhookChannel, want int) {
		t.Helper()
		r.deliverUntilAccepted("s", updates[1])
		r.server.UserSends(person, "after") // comes behind it
		if got := r.WaitForMessages(want); got[want-1].Text != "after" {
			t.Errorf("received %+v", got)
		}
	}
	again(r, fullAlbum+2)
	stop()
	second := r.restart(func(o *telegram.Options) { o.WebhookSecret = "s" })
	second.start()
	again(second, 1)
}

// Had it joined, it would be lost: the store has seen the album already.
func TestALatePartDoesNotJoinAnAlbumThatIsComplete(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t, func(o *telegram.Options) { o.WebhookSecret = "s" })
	updates := sendAlbumSlowly(r.server, fullAlbum+1)
	stop := r.start()
	r.WaitForMessages(fullAlbum + 1)
	tried := make(chan struct{}, 100)
	r.Recorder.Lock()
	r.Recorder.Reject = func(channels.Incoming) error {
		tried <- struct{}{}
		return errors.New("killed right after it was stored")
	}
	r.Recorder.Unlock()
	deliver := func(r *webhookChannel, i int) {
		t.Helper()
		r.deliverUntilAccepted("s", fmt.Sprintf(`{"update_id":%d,%s`, 5000+i, updates[i][1:]))
	}
	for i := range fullAlbum {
		deliver(r, i)
	}
	<-tried
	stop()
	second := r.restart(func(o *telegram.Options) { o.WebhookSecret, o.Timing.Quiet = "s", time.Millisecond }) // for the late part
	var late atomic.Bool
	second.Recorder.Reject = func(channels.Incoming) error {
		if !late.Load() {
			return errors.New("not yet")
		}
		return nil
	}
	second.start()
	deliver(second, fullAlbum)
	late.Store(true)
	got := second.WaitForMessages(2)
	expectAlbum(t, got[0], fullAlbum, "")
	if len(got[1].Media) != 1 || got[1].ID != "1010" {
		t.Errorf("the late part is %+v", got[1])
	}
}

func TestAFileThatTakesLongHoldsUpOnlyItsChatAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	first := newWebhookChannel(t)
	never := make(chan struct{})
	defer close(never)
	first.server.FailNext(telegramtest.Download, telegramtest.Fault{HangUntil: never})
	stop := first.start()
	first.server.UserPosts(telegramtest.UserPost{Chat: person, Text: "a file", Media: &photos(1)[0]})
	first.server.UserSends(person, "and a word")
	first.server.WaitForCalls(first.t, telegramtest.Download, func(c []telegramtest.Call) bool { return len(c) == 1 })
	first.server.UserSends(other, "meanwhile")
	if got := first.receivedAll(); len(got) != 1 || got[0].Text != "meanwhile" {
		t.Fatalf("received %+v", got)
	}
	stop()
	second := first.restart()
	second.start()
	got := second.WaitForMessages(2)
	if len(got[0].Media) != 1 || got[0].Text != "a file" || got[1].Text != "and a word" {
		t.Errorf("received %+v", got)
	}
	expectContent(t, got[0].Media[0], "photo 0")
	second.server.UserSends(person, "done")
	second.WaitForMessages(3)
	second.waitForNoParts()
}

func TestAnUpdateThatCannotBeStoredIsNotConfirmed(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	r.start()
	r.waitForRegistration()
	r.state.memory.FailWrites(errors.New("the disk is full"))
	r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: "look"}, photos(fullAlbum)...)
	for _, d := range r.waitForDeliveries(2)[:2] {
		wanttest.Equal(t, "answered", d.Status, 503)
	}
	wanttest.Equal(t, "are left:", r.server.PendingUpdates(), fullAlbum)
	r.state.memory.FailWrites(nil)
	expectAlbum(t, r.WaitForMessages(1)[0], fullAlbum, "look")
}

func TestABrokenFileOfAnEarlierVersionStopsNobody(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	state := r.state.legacyDir()
	musttest.Do(t, os.MkdirAll(state, 0o700))
	for name, content := range map[string]string{"5.open": "[", "6.sealed": "[]", "7.done": `["x"]`, "8.open": `[{"update_id":8}]`, "notes": ""} {
		musttest.Do(t, os.WriteFile(filepath.Join(state, name), []byte(content), 0o600))
	}
	r.server.UserSends(person, "hello")
	r.start()
	if got := r.WaitForMessages(1); got[0].Text != "hello" {
		t.Errorf("received %+v", got)
	}
	if n := strings.Count(r.LogText(), "cannot be read and stays there"); n != 3 {
		t.Errorf("%d are logged: %s", n, r.LogText())
	}
}
