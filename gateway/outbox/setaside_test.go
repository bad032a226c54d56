package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// errServer is what a channel returns for a status of 500.
var errServer = &channels.SendError{Err: errors.New("500 Internal Server Error"), Unknown: true}

// failOn returns a channel that fails to send the given texts.
func failOn(texts ...string) *fakeChannel {
	return &fakeChannel{call: func(_ int, o channels.Outgoing) error {
		if slices.Contains(texts, o.Text) {
			return errServer
		}
		return nil
	}}
}

// shown returns the buttons and texts that a chat got, without tries that failed.
func (n *fakeChannel) shown(chat channels.Chat, without string) (texts []string, last channels.Outgoing) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, o := range n.sent {
		if o.Chat == chat && o.Text != without {
			texts, last = append(texts, o.Text), o
		}
	}
	return texts, last
}

func TestAMessageThatTheNetworkFailsToTakeForThreeMinutesIsSetAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := failOn("bad"), openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "bad")
		postText(t, box, ann, "next")
		for range 35 {
			time.Sleep(5 * time.Second)
			postText(t, box, bob, "hello")
		}
		synctest.Wait()
		if got, _ := n.shown(ann, "bad"); len(got) != 0 {
			t.Errorf("ahead of the message ann got %q", got)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		got, notice := n.shown(ann, "bad")
		if len(got) != 2 || got[0] != "next" || !strings.Contains(got[1], "did not arrive") {
			t.Fatalf("ann got %q", got)
		}
		left := musttest.Get(s.Undelivered(t.Context(), ann, 9))(t)
		if len(left) != 1 || left[0].State != store.Failed || !strings.Contains(left[0].Err, "500") ||
			len(notice.Buttons) != 1 || notice.Buttons[0].Data != press.Resend(left[0].ID) {
			t.Fatalf("left is %+v, the buttons are %+v", left, notice.Buttons)
		}
		stop()
	})
}

func TestTheNoticeOfASetAsidePartRepliesToThePersonsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, s := &replyingChannel{fakeChannel: failOn("bad")}, openStore(t)
		box := newOutbox(s, ch, nil)
		stop := runOutbox(t, box)
		got := musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "7", Text: "hi"}, Claim: true}))(t)
		musttest.Do(t, box.Post(t.Context(), outbox.Reply(got.Inbound, channels.Message{Kind: channels.Answer, Text: "bad"})))
		for range 30 {
			time.Sleep(10 * time.Second)
			postText(t, box, bob, "hello")
		}
		synctest.Wait()
		wanttest.Equal(t, "replies to", ch.replyTo, "7")
		stop()
	})
}

// replyingChannel records what the newest message with a button replies to. Its other messages are
// no replies, like a part of an answer that is not the first.
type replyingChannel struct {
	*fakeChannel
	replyTo string
}

func (c *replyingChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if len(m.Buttons) > 0 {
		c.replyTo = m.ReplyTo
	}
	return c.fakeChannel.Plan(m)
}

func TestNothingIsSetAsideWhileTheWholeNetworkIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := time.Now().Add(time.Hour)
		n, s := &fakeChannel{call: func(int, channels.Outgoing) error {
			if time.Now().Before(up) {
				return errServer
			}
			return nil
		}}, openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		for _, text := range []string{"one", "two"} {
			postText(t, box, ann, text)
			postText(t, box, bob, text)
		}
		for time.Now().Before(up) {
			box.ShowMenu(bob, func(context.Context) error { return nil }) // it needs no call, and says nothing of the network
			time.Sleep(time.Minute)
		}
		time.Sleep(10 * time.Minute)
		left := musttest.Get(s.Undelivered(t.Context(), channels.Chat{}, 9))(t)
		wanttest.Equal(t, "left", len(left), 0)
		if texts, _ := n.shown(ann, "one"); texts[len(texts)-1] != "two" {
			t.Errorf("ann got %q", texts)
		}
		stop()
	})
}

func TestTheNoticeOfAMessageThatWasSetAsideHasNoNoticeItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := &fakeChannel{call: func(_ int, o channels.Outgoing) error {
			if o.Chat == ann {
				return errServer
			}
			return nil
		}}, openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "bad")
		for range 60 {
			time.Sleep(10 * time.Second)
			postText(t, box, bob, "hello")
		}
		synctest.Wait()
		left := musttest.Get(s.Undelivered(t.Context(), ann, 9))(t)
		if len(left) != 2 || left[0].State != store.Failed || left[1].State != store.Failed {
			t.Errorf("left is %+v", left)
		}
		stop()
	})
}

func TestAMessageThatGivesWayIsSetAsideWithoutANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := failOn("done"), openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		musttest.Do(t, box.Post(t.Context(), &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "done"}, GivesWay: true}))
		for range 30 {
			time.Sleep(10 * time.Second)
			postText(t, box, bob, "hello")
		}
		synctest.Wait()
		left := musttest.Get(s.Undelivered(t.Context(), ann, 9))(t)
		if got, _ := n.shown(ann, "done"); len(got) != 0 || len(left) != 1 || left[0].State != store.Failed {
			t.Errorf("ann got %q, left is %+v", got, left)
		}
		stop()
	})
}

func TestASilentMessageOfATurnThatIsSetAsideHasANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := failOn("a diff"), openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postSilent(t, box, "a diff", 1)
		for range 30 {
			time.Sleep(10 * time.Second)
			postText(t, box, bob, "hello")
		}
		synctest.Wait()
		if got, notice := n.shown(ann, "a diff"); len(got) != 1 || len(notice.Buttons) != 1 {
			t.Errorf("ann got %q", got)
		}
		stop()
	})
}

func TestNothingIsSetAsideInAnOutageThatBeginsWithSomeCallsThatSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n, s := &fakeChannel{call: func(_ int, o channels.Outgoing) error {
			if at := time.Since(began); at < time.Hour && (at > 2*time.Second || o.Chat == ann) {
				return errServer
			}
			return nil
		}}, openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "one")
		for range 20 {
			time.Sleep(100 * time.Millisecond)
			postText(t, box, bob, "hello")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		left := musttest.Get(s.Undelivered(t.Context(), channels.Chat{}, 9))(t)
		wanttest.Equal(t, "left", len(left), 0)
		if got, _ := n.shown(ann, "one"); len(got) != 0 {
			t.Errorf("ann was told %q", got)
		}
		stop()
	})
}

func TestAMessageThatNeedsNoCallDoesNotSayThatTheNetworkWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := &busyReplacer{fakeChannel: failOn("bad")}, openStore(t)
		box := newChannelOutbox(s, n)
		stop := runOutbox(t, box)
		postText(t, box, ann, "bad")
		for range 60 {
			time.Sleep(5 * time.Second)
			shown := outbox.Shown{ID: "m1", Out: channels.Outgoing{Text: "same"}}
			musttest.Do(t, box.Post(t.Context(), &outbox.Message{
				Message: channels.Message{Chat: bob, Kind: channels.Answer, Text: "same"}, Replace: []outbox.Shown{shown},
			}))
		}
		synctest.Wait()
		left := musttest.Get(s.Undelivered(t.Context(), channels.Chat{}, 9))(t)
		if len(left) != 1 || left[0].State != store.Pending || len(n.replaced) > 0 {
			t.Errorf("left is %+v, replaced %q", left, n.replaced)
		}
		stop()
	})
}
