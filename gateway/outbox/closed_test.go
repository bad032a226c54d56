package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// blockedChannel answers every call about ann's chat as Telegram does when she has blocked the bot.
type blockedChannel struct {
	fakeChannel
	calls   []string
	blocked bool
}

func (c *blockedChannel) answer(chat channels.Chat, what string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if chat != ann {
		return nil
	}
	c.calls = append(c.calls, what)
	if c.blocked {
		return &channels.SendError{Err: errors.New("403 bot was blocked by the user"), Permanent: true, Closed: true}
	}
	return nil
}

func (c *blockedChannel) Send(_ context.Context, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: "1"}, c.answer(o.Chat, "send "+o.Text)
}

func (c *blockedChannel) Edit(_ context.Context, _ string, o channels.Outgoing) error {
	return c.answer(o.Chat, "edit")
}

func (c *blockedChannel) Remove(_ context.Context, chat channels.Chat, _ string) error {
	return c.answer(chat, "remove")
}

func (c *blockedChannel) Reacts(channels.Chat) bool { return true }

func (c *blockedChannel) React(_ context.Context, chat channels.Chat, _ string, _ channels.Reaction) error {
	return c.answer(chat, "react")
}

func TestAPersonWhoHasBlockedTheBotCostsOneCallUntilTheyWriteAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := &blockedChannel{blocked: true}, openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "one")
		postText(t, box, ann, "two")
		synctest.Wait()
		box.React(ann, "7", channels.Taken)
		box.Remove(store.Transient{Chat: ann, ID: "8"})
		if _, err := box.Show(t.Context(), outbox.Transient{ID: "9", Out: channels.Outgoing{Chat: ann, Text: "board"}}); err == nil {
			t.Error("the board was edited")
		}
		if _, err := box.Show(t.Context(), outbox.Transient{Out: channels.Outgoing{Chat: ann, Text: "board"}}); err == nil {
			t.Error("the board was sent")
		}
		postText(t, box, bob, "hello")
		synctest.Wait()
		wanttest.Equal(t, "calls", fmt.Sprint(n.calls), "[send one]")
		left := musttest.Get(s.Undelivered(t.Context(), ann, 9))(t)
		if len(left) != 2 || left[0].State != store.Failed || left[0].Err != left[1].Err || !strings.Contains(left[0].Err, "blocked") {
			t.Errorf("left is %+v", left)
		}
		n.blocked = false
		box.Reopen(ann)
		postText(t, box, ann, "three")
		synctest.Wait()
		wanttest.Equal(t, "calls", fmt.Sprint(n.calls), "[send one send three]")
		stop()
	})
}

func TestAClosedChatIsTriedAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &blockedChannel{blocked: true}
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		for range 8 { // as a schedule might
			postText(t, box, ann, "news")
			time.Sleep(20 * time.Minute)
		}
		synctest.Wait()
		wanttest.Equal(t, "calls", len(n.calls), 2)
		stop()
	})
}
