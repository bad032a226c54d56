package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// The store commits together what is received at the same time. It can do so only if no chat waits
// for another one's commit.
func TestAllChatsOfAPollAreReceivedAtTheSameTime(t *testing.T) {
	r := newTestChannel(t)
	const chats = 100 // as many as one poll hands out
	for i := range chats {
		r.server.UserSends(other+int64(i), "hello")
	}
	var mu sync.Mutex
	inside, all := 0, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- r.Run(ctx, func(ctx context.Context, _ channels.Incoming) error {
			mu.Lock()
			if inside++; inside == chats {
				close(all)
			}
			mu.Unlock()
			select {
			case <-all: // no message is received before all of them are being received
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	select {
	case <-all:
	case <-time.After(waitLimit):
		t.Errorf("only %d of %d chats are being received", inside, chats)
	}
	r.waitForConfirmation(int64(r.server.InjectUpdate(`{"poll":{}}`)))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A message that cannot be received is stored as a part, so that Telegram need not keep it.
func TestAChatThatCannotBeReceivedStopsNoPoll(t *testing.T) {
	r := newTestChannel(t)
	var healed atomic.Bool
	r.Recorder.Reject = func(in channels.Incoming) error {
		if in.Chat == chatOf("42") && !healed.Load() {
			return errors.New("its folder cannot be made")
		}
		return nil
	}
	r.server.UserSends(person, "stuck")
	r.server.UserSends(other, "beside it")
	r.start()
	r.WaitForMessages(1)
	r.waitForConfirmation(int64(r.server.InjectUpdate(`{"poll":{}}`)))
	r.server.UserSends(person, "behind it")
	r.server.UserSends(other, "by the next poll")
	got := r.WaitForMessages(2)
	if got[0].Text != "beside it" || got[1].Text != "by the next poll" {
		t.Errorf("received %+v", got)
	}
	r.waitForConfirmation(int64(r.server.InjectUpdate(`{"poll":{}}`)))
	r.WaitForLog("message not received, will retry")
	healed.Store(true)
	got = r.receivedSoFar()[2:]
	if len(got) != 2 || got[0].Text != "stuck" || got[1].Text != "behind it" {
		t.Errorf("received %+v", got)
	}
	if n := strings.Count(r.LogText(), "message not received"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, r.LogText())
	}
}

func TestAChatThatCannotBeStoredHoldsUpItsOwnMessagesAndTheConfirmation(t *testing.T) {
	r := newTestChannel(t)
	healed := make(chan struct{})
	refuse := func(_ context.Context, in channels.Incoming) error {
		select {
		case <-healed:
			return nil
		default:
		}
		if in.Chat == chatOf(strconv.FormatInt(person, 10)) {
			return errors.New("the disk is full")
		}
		return nil
	}
	r.server.UserSends(other, "before")
	stuck := r.server.UserSends(person, "stuck")
	r.server.UserSends(person, "behind it")
	for i := range 5 {
		r.server.UserSends(other+1+int64(i), "beside it")
	}
	r.startRefusing(refuse)
	got := r.WaitForMessages(6)
	var pending []string
	for _, in := range got {
		if in.Chat == chatOf("42") {
			pending = append(pending, in.Text)
		}
	}
	if len(pending) > 0 || r.server.PendingUpdates() != 8 {
		t.Errorf("received are %q of the stuck chat, and %d of 8 updates are not confirmed", pending, r.server.PendingUpdates())
	}
	first := musttest.Get(strconv.ParseInt(r.newUpdate("before"), 10, 64))(t)
	for _, in := range got { // a restart must offer what is stuck again
		if cursor, _ := strconv.ParseInt(in.Cursor, 10, 64); cursor > first {
			t.Errorf("the cursor %s passes message %d, which is not received", in.Cursor, stuck.ID)
		}
	}
	r.WaitForLog("message not received, will retry")
	close(healed)
	got = r.receivedSoFar()[6:]
	if len(got) != 2 || got[0].Text != "stuck" || got[1].Text != "behind it" {
		t.Errorf("received %+v", got)
	}
	if n := strings.Count(r.LogText(), "message not received"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, r.LogText())
	}
}

// newUpdate is the cursor of the message with a text that was received.
func (r *testChannel) newUpdate(text string) string {
	r.t.Helper()
	for _, in := range r.Recorder.Messages() {
		if in.Text == text {
			return in.Cursor
		}
	}
	r.t.Fatalf("%q was not received", text)
	return ""
}

// While the messages of many chats are stored, a crash may find any of them stored and others not.
func TestACursorNeverPassesAnUpdateThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var updates []string
		for i := 1; i <= 60; i++ {
			updates = append(updates, albumPartUpdate(i, 7+i%13, ""))
		}
		ch, memory := newFakeTimeChannel(t, pollResponses(strings.Join(updates, ",")))
		var mu sync.Mutex
		stored := map[int]bool{}
		last := map[channels.Chat]int{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := ch.Run(ctx, memory.WrapReceive(func(ctx context.Context, in channels.Incoming) error {
			id, _ := strconv.Atoi(in.ID)
			time.Sleep(time.Duration(id*7919%97) * time.Second) // each takes a time of its own
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			if id < last[in.Chat] {
				t.Errorf("%s is received behind %d", in.ID, last[in.Chat])
			}
			stored[id], last[in.Chat] = true, id
			cursor, _ := strconv.Atoi(in.Cursor)
			for before := 1; before <= cursor; before++ {
				if !stored[before] {
					t.Errorf("with %d the cursor is %d, and %d is not stored", id, cursor, before)
				}
			}
			return nil
		}))
		if len(stored) != 60 || err != nil {
			t.Errorf("%d of 60 were received (%v)", len(stored), err)
		}
	})
}

func TestADeliveryThatTakesLongHoldsUpNoOtherChat(t *testing.T) {
	t.Parallel()
	r := newWebhookChannel(t)
	let := make(chan struct{})
	var mu sync.Mutex
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- r.Run(ctx, func(_ context.Context, in channels.Incoming) error {
			if in.Chat == chatOf("42") {
				<-let
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, in.Text)
			return nil
		})
	}()
	r.server.UserSends(person, "slow")
	r.server.UserSends(person, "behind it")
	for i := range 10 {
		r.server.UserSends(other+int64(i), "quick")
	}
	if !r.server.AwaitPending(2, waitLimit) {
		t.Errorf("%d are left", r.server.PendingUpdates())
	}
	close(let)
	r.receivedAll()
	mu.Lock()
	if len(got) != 12 || !slices.Equal(got[10:], []string{"slow", "behind it"}) {
		t.Errorf("received %q", got)
	}
	mu.Unlock()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The store knows the parts of what was received, also after a restart.
func TestANewPartBesideOneThatComesAgainIsAMessageOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{1, fullAlbum}, {fullAlbum, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			r := newWebhookChannel(t)
			updates := sendAlbumSlowly(r.server, fullAlbum+1)
			stop := r.start()
			r.WaitForMessages(fullAlbum + 1)
			for i, u := range updates {
				updates[i] = fmt.Sprintf(`{"update_id":%d,%s`, 5000+i, u[1:])
			}
			secret := r.waitForRegistration().Params["secret_token"]
			for _, u := range updates[:fullAlbum] {
				r.deliverUntilAccepted(secret, u)
			}
			expectAlbum(t, r.WaitForMessages(fullAlbum + 2)[fullAlbum+1], fullAlbum, "")
			stop()
			second := r.restart(shortQuiet)
			second.start()
			for _, i := range order {
				second.deliverUntilAccepted(secret, updates[i])
			}
			if got := second.WaitForMessages(1)[0]; got.ID != "1010" || len(got.Media) != 1 {
				t.Errorf("received %+v", got)
			}
			second.waitForNoParts()
			if got := second.Recorder.Messages(); len(got) != 1 {
				t.Errorf("received %+v", got)
			}
		})
	}
}

// Of one update only what is needed is stored.
func TestATextWithNothingBeforeItIsStoredOnce(t *testing.T) {
	r := newTestChannel(t)
	calls := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.server.AddChat(telegramtest.Chat{ID: group})
	r.server.UserPosts(telegramtest.UserPost{Chat: group, Text: "not for the bot", Media: &photos(1)[0]})
	r.server.UserSends(person, "hello")
	err := r.Run(ctx, func(_ context.Context, in channels.Incoming) error {
		if calls++; in.Part != nil || in.Text != "hello" {
			t.Errorf("received %+v", in)
		}
		cancel()
		return nil
	})
	if calls != 1 || err != nil {
		t.Errorf("%d calls, %v", calls, err)
	}
}
