package discordtest_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestABucketRunsOutPerChannel(t *testing.T) {
	bot := newTestBot(t)
	other := bot.AddChannel(bot.guild, "other")
	bot.SetLimit(discordtest.CreateMessage, 2, time.Hour)
	if h := bot.sendMessage(object{"content": "1"}).header; h.Get("X-RateLimit-Limit") != "2" || h.Get("X-RateLimit-Remaining") != "1" {
		t.Errorf("headers: %v", h)
	}
	bot.sendMessage(object{"content": "2"})
	got := bot.sendMessage(object{"content": "3"})
	if got.status != 429 || got.RetryAfter < 3000 || got.Global || got.header.Get("X-RateLimit-Scope") != "user" ||
		got.header.Get("Retry-After") == "" || got.header.Get("X-RateLimit-Reset-After") == "" {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
	bot.mustCall("POST", "/channels/"+other.ID+"/messages", object{"content": "4"})
	bot.mustCall("GET", "/channels/"+bot.channel+"/messages", nil)
	if len(bot.BotMessages("")) != 3 || bot.InvalidRequests() != 1 {
		t.Errorf("%d messages, %d invalid requests", len(bot.BotMessages("")), bot.InvalidRequests())
	}
	bot.SetLimit(discordtest.CreateMessage, 2, time.Nanosecond)
	bot.mustCall("POST", "/channels/"+bot.channel+"/messages", object{"content": "5"})
}

func TestTheGlobalLimitIsForAllRoutes(t *testing.T) {
	bot := newTestBot(t)
	bot.SetGlobalLimit(1, time.Hour)
	bot.mustCall("GET", "/users/@me", nil)
	got := bot.sendMessage(object{"content": "x"})
	if got.status != 429 || !got.Global || got.header.Get("X-RateLimit-Global") != "true" || got.header.Get("X-RateLimit-Scope") != "global" {
		t.Errorf("%d %s %v", got.status, got.body, got.header)
	}
}

func TestFaultsAreAppliedInOrder(t *testing.T) {
	bot := newTestBot(t)
	bot.FailNext(discordtest.CreateMessage, discordtest.RateLimited(1500*time.Millisecond), discordtest.BadGateway(),
		discordtest.ErrorResponse(403, 50013, "Missing Permissions"), discordtest.TruncatedJSON(), discordtest.Fault{})
	if got := bot.sendMessage(object{"content": "limited"}); got.status != 429 || got.RetryAfter != 1.5 || got.header.Get("Retry-After") != "2" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := bot.sendMessage(object{"content": "proxy"}); got.status != 502 || !strings.HasPrefix(string(got.body), "<html>") {
		t.Errorf("%d %s", got.status, got.body)
	}
	bot.expectError(bot.sendMessage(object{"content": "refused"}), 403, 50013)
	wanttest.Equal(t, "invalid requests:", bot.InvalidRequests(), 2)
	bot.FailNext(discordtest.GetMe, discordtest.RateLimitedBy("shared", time.Second))
	if got := bot.callJSON("GET", "/users/@me", nil); got.header.Get("X-RateLimit-Scope") != "shared" || bot.InvalidRequests() != 2 {
		t.Errorf("a shared limit: %v, %d invalid requests", got.header, bot.InvalidRequests())
	}
	if got := bot.sendMessage(object{"content": "garbage"}); got.status != 200 || got.ID != "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	bot.sendMessage(object{"content": "passed"})
	expectEqual(t, "shown", contents(bot.BotMessages(bot.channel)), []string{"garbage", "passed"})
}

func TestCutsBeforeAndAfterTheEffect(t *testing.T) {
	bot := newTestBot(t)
	post := func(text string) error {
		_, err := bot.request("POST", "/channels/"+bot.channel+"/messages", "application/json", strings.NewReader(`{"content":"`+text+`"}`))
		return err
	}
	bot.FailNext(discordtest.CreateMessage, discordtest.Fault{CutBefore: true}, discordtest.Fault{CutAfter: true})
	if post("before") == nil || post("after") == nil {
		t.Error("the connection was not cut")
	}
	expectEqual(t, "shown", contents(bot.BotMessages(bot.channel)), []string{"after"})
	if calls := bot.Calls(discordtest.CreateMessage); len(calls) != 2 || calls[1].Status != 0 || !calls[1].Done {
		t.Errorf("calls: %+v", calls)
	}
}

func TestAHungCallIsRecordedAndReleased(t *testing.T) {
	bot := newTestBot(t)
	release, answered := make(chan struct{}), make(chan reply)
	bot.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.CreateMessage {
			return discordtest.Fault{HangUntil: release}
		}
		return discordtest.Fault{}
	})
	go func() { answered <- bot.sendMessage(object{"content": "slow"}) }()
	if _, ok := bot.AwaitCalls(discordtest.CreateMessage, discordtest.WaitLimit, func(c []discordtest.Call) bool { return len(c) == 1 }); !ok {
		t.Fatal("no call")
	}
	if len(bot.BotMessages("")) != 0 {
		t.Error("it is shown already")
	}
	close(release)
	if got := <-answered; got.status != 200 {
		t.Errorf("%d", got.status)
	}
	bot.WaitForText(t, bot.channel, "slow")
}
