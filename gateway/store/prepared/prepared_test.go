package prepared_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

var (
	ann = channels.Chat{Channel: "net", ID: "1"}
	now = time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
)

func TestAnEditOfAMessageThatTheTurnMayHaveReadIsStoredInBothPlaces(t *testing.T) {
	before := store.Inbound{
		ID: 7, State: store.Pending, Agent: "a",
		In: channels.Incoming{Chat: ann, ID: "1", Text: "x"},
	}
	edit := channels.Incoming{Chat: ann, ID: "1", Text: "y", Change: channels.Edited}
	got := prepared.NewChange(store.ChangeRequest{In: edit, Injected: true}, "m", now).Decide(before)
	wanttest.Equal(t, "the effect", got.Effect, store.StoredForRerun)
	wanttest.Equal(t, "the earlier message is replaced", got.Replaces, true)
	wanttest.Equal(t, "the content", got.Inbound.In.Text, "y")
	wanttest.Equal(t, "it has no ID yet", got.Inbound.ID, int64(0))
	wanttest.Equal(t, "the end", got.Inbound.Ended, now)

	got = prepared.NewChange(store.ChangeRequest{In: edit}, "m", now).Decide(before)
	wanttest.Equal(t, "the effect on a message that nobody has read", got.Effect, store.Replaced)
	wanttest.Equal(t, "its ID", got.Inbound.ID, int64(7))
}

func TestAJoinedMessageWaitsNoLongerThanTheLimit(t *testing.T) {
	before := store.Inbound{
		State: store.Pending, Agent: store.DefaultAgent, Received: now.Add(time.Second - store.MaxGather),
		NotBefore: now.Add(time.Millisecond), In: channels.Incoming{Chat: ann, ID: "1", Text: "x"},
	}
	request := store.ReceiveRequest{In: channels.Incoming{Chat: ann, ID: "2", Text: "y"}, Gather: 2 * time.Second}
	joined, ok := prepared.NewReceive(request, "m", now).Join(before)
	wanttest.Equal(t, "it is joined", ok, true)
	wanttest.Equal(t, "the text", joined.In.Text, "x\ny")
	wanttest.Equal(t, "the end of the wait", joined.NotBefore, now.Add(time.Second))
	_, ok = prepared.NewReceive(request, "m", now.Add(time.Millisecond)).Join(before)
	wanttest.Equal(t, "it is joined after the wait", ok, false)
}

func TestCopiesOfTheSameFileHaveTheSameDigest(t *testing.T) {
	digest := func(path string) string {
		part := channels.Outgoing{Chat: ann, Media: []channels.File{{Path: path}}}
		outbound := store.Outbound{Sequence: 1, Parts: []channels.Outgoing{part}}
		return string(musttest.Get(prepared.NewOutbound(outbound, "m"))(t).Digest)
	}
	wanttest.Equal(t, "two copies are equal", digest("0a-1/x.png") == digest("0a-2/x.png"), true)
	wanttest.Equal(t, "copies of two files are equal", digest("0a-1/x.png") == digest("0b-1/x.png"), false)
}
