package outbox_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// refuseGivingWay refuses the messages that give way for some time.
func refuseGivingWay(d time.Duration) *fakeChannel {
	until := time.Now().Add(d)
	return &fakeChannel{call: func(_ int, o channels.Outgoing) error {
		if o.GivesWay && !o.Urgent && time.Now().Before(until) {
			return &channels.SendError{Err: channels.ErrBusy, After: d}
		}
		return nil
	}}
}

// postDone posts a message that gives way.
func postDone(t *testing.T, box *outbox.Outbox) {
	t.Helper()
	m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "done"}, GivesWay: true}
	musttest.Do(t, box.Post(t.Context(), m))
}

func TestAMessageThatGivesWayIsLeftOutIfANewerOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		s := openStore(t)
		box := newOutbox(s, n, nil)
		stop := runOutbox(t, box)
		postDone(t, box)
		time.Sleep(time.Minute)
		began := time.Now()
		postText(t, box, ann, "the answer")
		synctest.Wait()
		box.Idle(t.Context())
		left, err := s.Undelivered(t.Context(), ann, 9)
		if got := n.texts(); got != "[done the answer]" || time.Since(began) > 0 || len(left) > 0 || err != nil {
			t.Errorf("sent %s after %s, left is %+v (%v)", got, time.Since(began), left, err)
		}
		stop()
	})
}

func TestSilentMessagesOvertakeAMessageThatGivesWayAndItIsStillSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		postDone(t, box)
		time.Sleep(time.Minute)
		for _, text := range []string{"a", "b"} {
			m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: text, Notification: channels.Notification{Silent: true}}}
			musttest.Do(t, box.Post(t.Context(), m))
			synctest.Wait()
		}
		wanttest.Equal(t, "sent", n.texts(), "[done a b]")
		time.Sleep(2 * time.Hour)
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[done a b done]")
	})
}

func TestASilentMessageThatGivesWayIsSentAfterANewerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: "too many", Notification: channels.Notification{Silent: true}}, GivesWay: true}
		musttest.Do(t, box.Post(t.Context(), m))
		time.Sleep(time.Minute)
		postText(t, box, ann, "the answer")
		synctest.Wait()
		wanttest.Equal(t, "sent", n.texts(), "[too many the answer]")
		time.Sleep(2 * time.Hour)
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[too many the answer too many]")
	})
}

func TestAChatWithNothingButAMessageThatGivesWayIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		postDone(t, box)
		synctest.Wait()
		if !box.Empty(t.Context(), ann) {
			t.Error("the chat is busy")
		}
		n.call = func(int, channels.Outgoing) error {
			return &channels.SendError{Err: errors.New("busy"), After: time.Minute}
		}
		postText(t, box, ann, "the answer")
		synctest.Wait()
		if box.Empty(t.Context(), ann) {
			t.Error("the chat with a waiting answer is empty")
		}
		stop()
	})
}

// postSilent posts a silent message, which belongs to a turn if it has a sequence number.
func postSilent(t *testing.T, box *outbox.Outbox, text string, sequence int) {
	t.Helper()
	m := &outbox.Message{Message: channels.Message{Chat: ann, Kind: channels.Answer, Text: text}, Sequence: sequence}
	m.Silent = true
	musttest.Do(t, box.Post(t.Context(), m))
}

func TestASilentMessageOfATurnGivesWayUntilAnAnswerIsBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		began := time.Now()
		for i, text := range []string{"a remark", "a diff"} {
			postSilent(t, box, text, i+1)
			time.Sleep(time.Minute)
		}
		wanttest.Equal(t, "sent", n.texts(), "[a remark]")
		postText(t, box, ann, "the answer")
		synctest.Wait()
		// Each of them is refused once more before it is urgent.
		wanttest.Equal(t, "sent", n.texts(), "[a remark a remark a remark a diff a diff the answer]")
		wanttest.Equal(t, "time", time.Since(began), 2*time.Minute)
		stop()
	})
}

func TestASilentMessageOfATurnThatNothingFollowsIsSentWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		for i, text := range []string{"a remark", "a diff"} {
			postSilent(t, box, text, i+1)
		}
		postDone(t, box)
		time.Sleep(59 * time.Minute)
		wanttest.Equal(t, "sent", n.texts(), "[a remark]")
		time.Sleep(2 * time.Minute)
		wanttest.Equal(t, "sent", n.texts(), "[a remark a remark a diff done]")
		stop()
	})
}

func TestASilentAnswerToACommandDoesNotGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := refuseGivingWay(time.Hour)
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		postSilent(t, box, "the status", 0)
		synctest.Wait()
		stop()
		if len(n.sent) != 1 || n.sent[0].GivesWay {
			t.Errorf("sent %+v", n.sent)
		}
	})
}

func TestASilentMessageOfATurnIsNeverLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeChannel{call: func(number int, _ channels.Outgoing) error {
			if number == 1 {
				return &channels.SendError{Err: errors.New("too many requests"), After: time.Minute}
			}
			return nil
		}}
		box := newOutbox(openStore(t), n, nil)
		postSilent(t, box, "a diff", 1)
		postText(t, box, ann, "the answer")
		stop := runOutbox(t, box)
		time.Sleep(time.Hour)
		stop()
		wanttest.Equal(t, "sent", n.texts(), "[a diff a diff the answer]")
	})
}

func TestAChannelThatAsksForAlmostNoPauseGetsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), 0
		n := &fakeChannel{call: func(int, channels.Outgoing) error {
			if calls++; time.Since(began) < 10*time.Millisecond {
				return &channels.SendError{Err: channels.ErrBusy, After: time.Nanosecond}
			}
			return nil
		}}
		box := newOutbox(openStore(t), n, nil)
		stop := runOutbox(t, box)
		postText(t, box, ann, "the answer")
		time.Sleep(time.Second)
		stop()
		wanttest.Equal(t, "calls", calls, 11)
	})
}
