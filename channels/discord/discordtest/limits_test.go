package discordtest_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
)

func TestABucketRunsOutPerChannel(t *testing.T) {
	r := newRig(t)
	other := r.AddChannel(r.guild, "other")
	r.SetLimit(discordtest.CreateMessage, 2, time.Hour)
	if h := r.send(object{"content": "1"}).header; h.Get("X-RateLimit-Limit") != "2" || h.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("headers: %v", h)
	}
	r.send(object{"content": "2"})
	got := r.send(object{"content": "3"})
	if got.status != 429 || got.RetryAfter < 3000 || got.Global || got.header.Get("X-RateLimit-Scope") != "user" ||
		got.header.Get("Retry-After") == "" || got.header.Get("X-RateLimit-Reset-After") == "" {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
	r.must("POST", "/channels/"+other.ID+"/messages", object{"content": "4"})
	r.must("GET", "/channels/"+r.channel+"/messages", nil)
	if len(r.BotMessages("")) != 3 || r.InvalidRequests() != 1 {
		t.Errorf("%d messages, %d invalid requests", len(r.BotMessages("")), r.InvalidRequests())
	}
	r.SetLimit(discordtest.CreateMessage, 2, time.Nanosecond)
	r.must("POST", "/channels/"+r.channel+"/messages", object{"content": "5"})
}

func TestTheGlobalLimitIsForAllRoutes(t *testing.T) {
	r := newRig(t)
	r.SetGlobalLimit(1, time.Hour)
	r.must("GET", "/users/@me", nil)
	got := r.send(object{"content": "x"})
	if got.status != 429 || !got.Global || got.header.Get("X-RateLimit-Global") != "true" || got.header.Get("X-RateLimit-Scope") != "global" {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
}

func TestFaultsComeInOrderAndDoWhatTheySay(t *testing.T) {
	r := newRig(t)
	r.FailNext(discordtest.CreateMessage, discordtest.RateLimited(1500*time.Millisecond), discordtest.BadGateway(),
		discordtest.ErrorResponse(403, 50013, "Missing Permissions"), discordtest.TruncatedJSON(), discordtest.Fault{})
	if got := r.send(object{"content": "limited"}); got.status != 429 || got.RetryAfter != 1.5 || got.header.Get("Retry-After") != "2" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := r.send(object{"content": "proxy"}); got.status != 502 || !strings.HasPrefix(string(got.body), "<html>") {
		t.Errorf("%d %s", got.status, got.body)
	}
	r.refused(r.send(object{"content": "refused"}), 403, 50013)
	if n := r.InvalidRequests(); n != 2 {
		t.Errorf("%d invalid requests", n)
	}
	r.FailNext(discordtest.GetMe, discordtest.Fault{Status: 429, Scope: "shared", RetryAfter: time.Second})
	if got := r.call("GET", "/users/@me", nil); got.header.Get("X-RateLimit-Scope") != "shared" || r.InvalidRequests() != 2 {
		t.Errorf("a shared limit: %v, %d invalid requests", got.header, r.InvalidRequests())
	}
	if got := r.send(object{"content": "garbage"}); got.status != 200 || got.ID != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	r.send(object{"content": "passed"})
	same(t, "shown", contents(r.BotMessages(r.channel)), []string{"garbage", "passed"})
}

func TestCutsBeforeAndAfterTheEffect(t *testing.T) {
	r := newRig(t)
	post := func(text string) error {
		_, err := r.try("POST", "/channels/"+r.channel+"/messages", "application/json", strings.NewReader(`{"content":"`+text+`"}`))
		return err
	}
	r.FailNext(discordtest.CreateMessage, discordtest.Fault{CutBefore: true}, discordtest.Fault{CutAfter: true})
	if post("before") == nil || post("after") == nil {
		t.Error("the connection was not cut")
	}
	same(t, "shown", contents(r.BotMessages(r.channel)), []string{"after"})
	if calls := r.Calls(discordtest.CreateMessage); len(calls) != 2 || calls[1].Status != 0 || !calls[1].Done {
		t.Errorf("calls: %+v", calls)
	}
}

func TestAHangIsSeenAndLetGo(t *testing.T) {
	r := newRig(t)
	release, answered := make(chan struct{}), make(chan reply)
	r.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.CreateMessage {
			return discordtest.Fault{HangUntil: release}
		}
		return discordtest.Fault{}
	})
	go func() { answered <- r.send(object{"content": "slow"}) }()
	if _, ok := r.AwaitCalls(discordtest.CreateMessage, discordtest.WaitLimit, func(c []discordtest.Call) bool { return len(c) == 1 }); !ok {
		t.Fatal("no call")
	}
	if len(r.BotMessages("")) != 0 {
		t.Error("it is shown already")
	}
	close(release)
	if got := <-answered; got.status != 200 {
		t.Errorf("%d", got.status)
	}
	r.WaitForText(t, r.channel, "slow")
}
