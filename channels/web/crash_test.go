package web_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestMessagesFromBeforeACrashAreReceivedAfterIt(t *testing.T) {
	r := newFixture(t)
	first := r.postText("ann", "web-a-known-to-nobody-else", "one") // nobody runs yet
	r.postForm("ann", "web-a-known-to-nobody-else", "two", formFile{"a.txt", "x"})
	r.restart()
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "three")
	got := r.awaitIncoming(3)
	if !slices.Equal(texts(got), []string{"one", "two", "three"}) || got[0].ID != first["id"] || len(got[1].Media) != 1 {
		t.Errorf("received were %+v", got)
	}
	r.restart()
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "four")
	wanttest.EqualSlices(t, "after another restart", texts(r.awaitIncoming(4)), []string{"one", "two", "three", "four"})
}

// TestACrashAfterReceiveOffersTheMessageAgain dies when the gateway has the message and the channel
// has not noted that.
func TestACrashAfterReceiveOffersTheMessageAgain(t *testing.T) {
	r := newFixture(t)
	r.postText("ann", "web-a-known-to-nobody-else", "one")
	ctx, cancel := context.WithCancel(t.Context())
	offered := make(chan channels.Incoming, 1)
	done := make(chan error, 1)
	go func() {
		done <- r.ch.Run(ctx, func(_ context.Context, in channels.Incoming) error {
			_ = r.ch.Close()
			offered <- in
			return nil
		})
	}()
	first := <-offered
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.startGateway()
	if again := r.awaitIncoming(1)[0]; again.ID != first.ID || again.Text != "one" || again.Chat != first.Chat {
		t.Errorf("offered was %+v, then %+v, which the gateway would take for another", first, again)
	}
}

func TestARepairedDiskIsUsedAgain(t *testing.T) {
	r := newFixture(t)
	state := filepath.Join(r.dir, "state")
	if err := os.WriteFile(state, nil, 0o600); err != nil { // where a folder should be
		t.Fatal(err)
	}
	for range 2 {
		if status, answer := r.postJSON("ann", "/api/chats/web-a-known-to-nobody-else/messages", object{"text": "hello"}); status != 503 || answer["error"] == nil {
			t.Errorf("answered %d %v", status, answer)
		}
		if err := r.ch.Run(t.Context(), r.inbox.Receive); err == nil {
			t.Error("it runs")
		}
		if r.ch.Health() == nil {
			t.Error("it takes itself for healthy")
		}
		if _, err := r.ch.Send(t.Context(), channels.Outgoing{Chat: channels.Chat{Channel: "web", ID: "web-a-known-to-nobody-else"}, Text: "x"}); err == nil {
			t.Error("something was sent")
		}
	}
	musttest.Do(t, os.Remove(state))
	r.startGateway()
	r.postText("ann", "web-a-known-to-nobody-else", "hello again")
	if got := texts(r.awaitIncoming(1)); !slices.Equal(got, []string{"hello again"}) || r.ch.Health() != nil {
		t.Errorf("received were %q, its health is %v", got, r.ch.Health())
	}
}
