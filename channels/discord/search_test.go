package discord_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestTheSearchSurvivesNetworkErrors(t *testing.T) {
	for name, fault := range map[string]discordtest.Fault{
		"a bad gateway": discordtest.BadGateway(),
		"a cut":         {CutBefore: true},
		"garbage":       discordtest.TruncatedJSON(),
		"too many":      discordtest.RateLimited(50 * time.Millisecond),
		"all too many":  discordtest.GloballyRateLimited(50 * time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChannel(t)
			for _, route := range []string{"GET /gateway/bot", "POST /users/@me/channels", discordtest.GetMessages, "GET /applications/{application_id}/commands"} {
				r.server.FailNext(route, fault)
			}
			r.server.UserSends(r.dm, ada, "hello")
			r.start()
			if got := r.WaitForMessages(1); got[0].Text != "hello" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What is said while the past is looked through belongs behind it.
func TestMessagesDuringTheSearchAreReceivedAfterIt(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, allGroups)
	stop := r.startConnected()
	r.server.UserSends(r.dm, ada, "before")
	r.WaitForMessages(1)
	stop()
	var want []string
	for i := range 350 {
		want = append(want, fmt.Sprint(i))
	}
	for _, text := range want[:50] {
		r.server.UserSends(r.dm, ada, text)
	}
	r.server.FailNext(discordtest.GetMessages, discordtest.Fault{ResponseDelay: 300 * time.Millisecond}) // what it says is old when it comes
	asked := len(r.server.Calls(discordtest.GetMessages))
	next := r.restart(allGroups)
	next.startConnected()
	r.server.WaitForCalls(r.t, discordtest.GetMessages, func(c []discordtest.Call) bool { return len(c) > asked })
	for _, text := range want[50:] { // more than are held
		r.server.UserSends(r.dm, ada, text)
	}
	wanttest.EqualSlices(t, "got", textsOf(next.waitForNewMessages(r, len(want))), want)
}

// startSearching returns a restarted channel whose search of Ada's DM, in which she has sent "one",
// hangs until goOn is called.
func startSearching(t *testing.T) (r *testChannel, goOn func()) {
	t.Helper()
	first := newTestChannel(t)
	stop := first.startConnected()
	first.server.WaitForCalls(first.t, discordtest.PutCommands, func(c []discordtest.Call) bool { return len(c) == 1 && c[0].Done })
	first.server.UserSends(first.dm, ada, "zero")
	first.WaitForMessages(1)
	stop()
	first.server.UserSends(first.dm, ada, "one")
	hang := make(chan struct{})
	first.server.FailNext(discordtest.GetMessages, discordtest.Fault{HangUntil: hang})
	r = first.restart()
	r.startConnected()
	r.server.WaitForCalls(r.t, discordtest.GetMessages, func(c []discordtest.Call) bool { return len(c) > 0 && !c[len(c)-1].Done })
	return r, func() { close(hang) }
}

// handleDuringSearch calls say and waits until the gateway's events so far are handled.
func (r *testChannel) handleDuringSearch(say func()) {
	r.t.Helper()
	say()
	user := "4400000000000000044"
	r.waitForMessage(r.server.UserSends(r.server.DM(user).ID, user, "told").ID)
}

func TestASessionThatEndsDuringTheSearchChangesNoOrder(t *testing.T) {
	r, goOn := startSearching(t)
	r.handleDuringSearch(func() { r.server.UserSends(r.dm, ada, "two") })
	sessions := r.server.Stats().Readies
	r.server.QueueHandshakeFaults(discordtest.HandshakeFault{RefuseStatus: 503})
	r.server.ExpireSessions()
	r.server.CutConnections()
	r.server.UserSends(r.dm, ada, "three")
	r.waitForSessions(sessions + 1)
	r.handleDuringSearch(func() { r.server.UserSends(r.dm, ada, "four") })
	goOn()
	r.expectInOrder("zero", "one", "two", "three", "four")
}

func TestACommandDuringTheSearchKeepsItsPlace(t *testing.T) {
	r, goOn := startSearching(t)
	r.server.SetEventCopies(func(_ string, data json.RawMessage) int { // as if this were told later
		if strings.Contains(string(data), "three") {
			return 0
		}
		return 1
	})
	r.handleDuringSearch(func() { r.runCommand(r.dm, ada, "ask", map[string]any{"text": "two"}) })
	r.server.UserSends(r.dm, ada, "three")
	goOn()
	r.expectInOrder("zero", "one", "two", "three")
}

// expectInOrder waits for exactly these messages in Ada's conversation.
func (r *testChannel) expectInOrder(want ...string) {
	r.t.Helper()
	var got []string
	for n := 1; len(got) < len(want); n++ {
		if in := r.WaitForMessages(n)[n-1]; in.Chat.ID == r.dm {
			got = append(got, in.Text)
		}
	}
	wanttest.EqualSlices(r.t, "got", got, want)
}
