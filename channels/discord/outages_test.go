package discord_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// What one Run took in and could not hand on, the next one finds.
func TestPendingMessagesAreReceivedInTheNextRun(t *testing.T) {
	r := newTestChannel(t, noKnownPeople)
	var mended atomic.Bool
	refused := make(chan struct{}, 1)
	r.Recorder.Reject = func(channels.Incoming) error {
		if mended.Load() {
			return nil
		}
		select {
		case refused <- struct{}{}:
		default:
		}
		return errors.New("disk full")
	}
	stop := r.startConnected()
	r.server.UserSends(r.dm, ada, "one")
	<-refused
	stop()
	mended.Store(true)
	r.startConnected()
	r.server.UserSends(r.dm, ada, "two")
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"one", "two"})
}

func TestMessagesDuringAGuildOutageAreFound(t *testing.T) {
	r := newTestChannel(t, allGroups)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.server.UserSends(ch, ada, "long before")
	r.startConnected()
	r.waitForMessage(r.server.UserSends(ch, ada, "one").ID)
	r.server.GuildOutage(g.ID, func() {
		r.server.SetEventCopies(func(string, json.RawMessage) int { return 0 })
		r.server.UserSends(ch, ada, "two")
		r.server.SetEventCopies(nil)
	})
	r.waitForMessage(r.server.UserSends(ch, ada, "three").ID)
	if got := textsOf(r.Recorder.Messages()); !strings.HasSuffix(strings.Join(got, " "), "one two three") {
		t.Errorf("got %q", got)
	}
}

// Who has never written before is told of only by the session that was interrupted.
func TestASessionOutlivesAnOutageOfTheNetwork(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.UserSends(r.dm, ada, "one")
	r.WaitForMessages(1)
	h := discordtest.HandshakeFault{RefuseStatus: http.StatusServiceUnavailable}
	r.server.QueueHandshakeFaults(h, h, h, h, h)
	r.server.CutConnections()
	r.server.UserSends(r.server.DM(bob).ID, bob, "two")
	r.WaitForMessages(2)
	if s := r.server.Stats(); s.Readies != 1 || s.Resumed == 0 {
		t.Errorf("the session was not resumed: %+v", s)
	}
}

// Discord tells of no change of a channel when a role lets the bot in.
func TestAChannelThatARoleOpensIsLookedThroughAgain(t *testing.T) {
	r := newTestChannel(t, allGroups)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "secret").ID
	r.server.UserSends(ch, ada, "before")
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Args["channel_id"] == ch {
			return discordtest.ErrorResponse(http.StatusForbidden, 50001, "Missing Access")
		}
		return discordtest.Fault{}
	})
	r.startConnected()
	r.WaitForLog("history refused")
	r.server.SetFault(nil)
	r.waitForMessage(r.server.UserSends(ch, ada, "one").ID)
	n := r.server.Stats().Readies
	r.server.QueueHandshakeFaults(discordtest.HandshakeFault{RefuseStatus: http.StatusServiceUnavailable})
	r.server.ExpireSessions()
	r.server.CutConnections()
	missed := r.server.UserSends(ch, ada, "two")
	r.waitForSessions(n + 1)
	r.waitForMessage(missed.ID)
}

func TestACommandIsAcknowledgedWhileReceiveIsSlow(t *testing.T) {
	r := withCommands(t)
	began, release := make(chan struct{}), make(chan struct{})
	r.Recorder.Reject = func(in channels.Incoming) error {
		if in.Text == "slow" {
			close(began)
			<-release
		}
		return nil
	}
	r.server.UserSends(r.dm, ada, "slow")
	<-began
	func() {
		defer close(release)
		i := r.runCommand(r.dm, ada, "ask", map[string]any{"text": "hello"})
		r.server.AwaitInteraction(t, i.ID)
	}()
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"slow", "hello"})
}

// What is found in a channel does not say that it is one of a server's.
func TestAChannelThatVanishesInASearchIsNoDirectConversation(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	stop := r.startConnected()
	r.waitForMessage(r.server.UserSends(r.dm, ada, "one").ID)
	r.receivedSoFar()
	stop()
	r.server.UserSends(ch, ada, "not for the bot")
	asked := make(chan struct{})
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.GetMessages && c.Args["channel_id"] == ch {
			close(asked)
			return discordtest.Fault{ResponseDelay: time.Second / 2}
		}
		return discordtest.Fault{}
	})
	next := r.restart()
	next.start()
	<-asked
	r.server.DeleteChannel(ch)
	next.server.WaitForCalls(next.t, discordtest.GetMessages, func(calls []discordtest.Call) bool {
		return !slices.ContainsFunc(calls, func(c discordtest.Call) bool { return !c.Done })
	})
	for _, in := range next.receivedSoFar() {
		if in.Text == "not for the bot" {
			t.Errorf("received %+v", in)
		}
	}
}

func TestAWaitIsKeptWhenAnotherChatHasAnotherBucket(t *testing.T) {
	var calls atomic.Int32
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			h, body, status := http.Header{"X-Ratelimit-Bucket": {"quick"}}, `{"id":"1"}`, http.StatusOK
			if strings.Contains(req.URL.Path, "/channels/111/") {
				calls.Add(1)
				h.Set("X-RateLimit-Bucket", "slow")
				status, body = http.StatusTooManyRequests, `{"message":"slow","retry_after":60}`
			}
			return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
	})
	r.MustFailSend(t.Context(), r.planTextTo("111", "x"))
	musttest.Get(r.Send(t.Context(), r.planTextTo("222", "x")))(t)
	r.MustFailSend(t.Context(), r.planTextTo("111", "y"))
	wanttest.Equal(t, "it was asked … times within the wait:", calls.Load(), 1)
}
