package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/wanttest"
)

func TestRefusedMessagesAreOfferedAgainInOrder(t *testing.T) {
	r := newTestChannel(t)
	r.Recorder.Reject = func(in channels.Incoming) error {
		if in.Text == "one" && r.Recorder.Rejected < 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	r.startConnected()
	for _, text := range []string{"one", "two", "three"} {
		r.server.UserSends(r.dm, ada, text)
	}
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(3)), []string{"one", "two", "three"})
	wanttest.Equal(t, "the same error is logged … times:", strings.Count(r.LogText(), "the disk is full"), 1)
}

func TestARefusedChatDelaysNoOther(t *testing.T) {
	r := newTestChannel(t)
	release := make(chan struct{})
	r.Recorder.Reject = func(in channels.Incoming) error {
		select {
		case <-release:
			return nil
		default:
		}
		if in.Chat.ID == r.dm {
			return errors.New("not this one")
		}
		return nil
	}
	r.startConnected()
	r.server.UserSends(r.dm, ada, "one")
	r.server.UserSends(r.dm, ada, "two")
	other := r.server.DM(bob).ID
	for i := range 20 {
		r.server.UserSends(other, bob, fmt.Sprint(i))
	}
	if got := r.WaitForMessages(20); got[19].Text != "19" || got[0].Chat.ID != other {
		t.Errorf("got %q", textsOf(got))
	}
	close(release)
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(22)[20:]), []string{"one", "two"})
}

func TestARepeatedEventIsReceivedOnce(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetEventCopies(func(string, json.RawMessage) int { return 2 })
	r.startConnected()
	for i := range 10 {
		r.server.UserSends(r.dm, ada, fmt.Sprint(i))
	}
	if got := r.receivedSoFar(); len(got) != 10 {
		t.Errorf("got %q", textsOf(got))
	}
}
