package discord_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// A send may be cut off at any point, by the network or because we die. Its repetition must not be
// a second message.
func TestARepeatedSendIsOneMessage(t *testing.T) {
	r := newTestChannel(t)
	for i, fault := range []discordtest.Fault{{CutAfter: true}, {CutBefore: true}, discordtest.TruncatedJSON(), discordtest.BadGateway(), {}} {
		o := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Kind: channels.Answer, Text: "hello", Media: []channels.File{r.WriteFile("a.txt", []byte("a"))}})[0]
		o.Key = []string{"1", "2", "3", "4", "9223372036854775807"}[i]
		r.server.FailNext(discordtest.CreateMessage, fault)
		first, err := r.Send(t.Context(), o)
		later := r.restartWithoutCursor() // another process, with what was stored
		second, again := later.Send(t.Context(), o)
		if again != nil || err == nil && first != second || second.ID == "" {
			t.Errorf("sent as %v, %v, then as %v, %v", first, err, second, again)
		}
		if n := len(r.server.BotMessages(r.dm)); n != i+1 {
			t.Errorf("after %d messages %d are shown", i+1, n)
		}
	}
	for _, c := range r.createCalls() {
		body := bodyOf(t, c)
		if nonce, ok := body["nonce"].(string); !ok || nonce == "" || len(nonce) > 25 || body["enforce_nonce"] != true {
			t.Errorf("the nonce is %v, %v", body["nonce"], body["enforce_nonce"])
		}
	}
	if !r.Repeatable() {
		t.Error("the gateway is not told")
	}
}

// Keys begin again with a new state, soon after which Discord may still remember the old ones.
func TestTheSameKeyWithOtherWordsIsAnotherMessage(t *testing.T) {
	r := newTestChannel(t)
	one, two := r.PlanText("one"), r.PlanText("two")
	one.Key, two.Key = "1", "1"
	for _, o := range []channels.Outgoing{one, two} {
		musttest.Get(r.Send(t.Context(), o))(t)
	}
	wanttest.Equal(t, "messages are shown:", len(r.server.BotMessages(r.dm)), 2)
}

func TestErrorsAreClassifiedForTheGateway(t *testing.T) {
	type want struct {
		permanent, unknown, closed bool
		after                      time.Duration
	}
	for name, c := range map[string]struct {
		fault discordtest.Fault
		want  want
	}{
		"missing permission": {discordtest.ErrorResponse(403, 50013, "Missing Permissions"), want{permanent: true}},
		"no direct messages": {discordtest.ErrorResponse(403, 50007, "Cannot send messages to this user"), want{permanent: true, closed: true}},
		"unknown channel":    {discordtest.ErrorResponse(404, 10003, "Unknown Channel"), want{permanent: true}},
		"invalid":            {discordtest.ErrorResponse(400, 50035, "Invalid Form Body"), want{permanent: true}},
		"not our token":      {discordtest.ErrorResponse(401, 0, "401: Unauthorized"), want{}},
		"an error":           {discordtest.ErrorResponse(500, 0, "oops"), want{unknown: true}},
		"a proxy's refusal":  {discordtest.Fault{Status: 403, Body: "<html>error 1020</html>"}, want{}},
		"too many":           {discordtest.RateLimited(20 * time.Second), want{after: 20 * time.Second}},
		"all too many":       {discordtest.GloballyRateLimited(20 * time.Second), want{after: 20 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.server.FailNext(discordtest.CreateMessage, c.fault)
			got := r.MustFailSend(t.Context(), r.PlanText("hello"))
			if got.Permanent != c.want.permanent || got.Unknown != c.want.unknown || got.Closed != c.want.closed || got.After < c.want.after || got.After > c.want.after+time.Second {
				t.Errorf("it means %+v", got)
			}
		})
	}
}

func TestAServerThatCannotBeReachedHasSeenNothing(t *testing.T) {
	r := newTestChannel(t)
	r.server.Close()
	if got := r.MustFailSend(t.Context(), r.PlanText("hello")); got.Permanent || got.Unknown {
		t.Errorf("it means %+v", got)
	}
}

func TestASendThatIsCutOffByItsContextIsUnknown(t *testing.T) {
	r := newTestChannel(t)
	hang := make(chan struct{})
	defer close(hang)
	r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{HangUntil: hang})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.server.WaitForCalls(r.t, discordtest.CreateMessage, func(c []discordtest.Call) bool { return len(c) > 0 })
		cancel()
	}()
	if got := r.MustFailSend(ctx, r.PlanText("hello")); !got.Unknown || got.Permanent {
		t.Errorf("it means %+v", got)
	}
}

func TestAnInvalidChatIsRefused(t *testing.T) {
	r := newTestChannel(t)
	if _, err := r.Plan(channels.Message{Chat: chatOf("general"), Text: "x"}); err == nil {
		t.Error("it is planned")
	}
	if got := r.MustFailSend(t.Context(), channels.Outgoing{Chat: chatOf("general"), Text: "x"}); !got.Permanent {
		t.Errorf("it means %+v", got)
	}
	if r.Edit(t.Context(), "x", r.PlanText("x")) == nil || r.Remove(t.Context(), chatOf(r.dm), "") == nil || r.Typing(t.Context(), chatOf("")) == nil {
		t.Error("it is taken")
	}
	if _, err := r.Plan(channels.Message{Chat: chatOf(r.dm), Text: "x", Buttons: []channels.Button{{Label: "x", Data: strings.Repeat("x", 101)}}}); err == nil {
		t.Error("a button that carries too much is planned")
	}
}
