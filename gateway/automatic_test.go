package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// sayInput is an agent that says the text, the origin and the user of its message.
const sayInput = `read -r line; field() { printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
echo "$(field text) $(field origin) $(printf '%s' "$line" | sed -n 's/.*"user":{"id":"\([^"]*\)".*/\1/p')"`

func netChat(id string) channels.Chat { return channels.Chat{Channel: "net", ID: id} }

func TestAMessageThatNobodyTypedIsSentOnce(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput)
	var audited []string
	fx.audit = func(r audit.Record) {
		if r.Event == audit.Sent {
			audited = append(audited, r.Chat+" "+r.User.ID)
		}
	}
	fx.start()
	m := gateway.AutomaticMessage{Origin: channels.ByAsk, Chat: netChat("1"), Text: "the backup has failed", Key: "k"}
	first := musttest.Get(fx.gw.Send(t.Context(), m))(t)
	musttest.Do(t, fx.gw.AwaitDelivery(t.Context(), first.Inbound))
	fx.expect("1", "the backup has failed")
	second := musttest.Get(fx.gw.Send(t.Context(), m))(t)
	wanttest.Equal(t, "the second is", second, gateway.Accepted{Inbound: first.Inbound, Duplicate: true})
	wanttest.EqualSlices(t, "audited", audited, []string{"1 ask"})
	fx.net.UserWrites("1", "u", "hello")
	fx.expect("1", "the backup has failed", "hello person u")
	entries := musttest.Get(fx.store.History(t.Context(), netChat("1"), 10, 0))(t)
	wanttest.Equal(t, "the history begins with", entries[0].Role+" "+entries[0].Text, "agent the backup has failed")
	wanttest.Equal(t, "and has … entries:", len(entries), 3)
}

func TestAMessageThatNobodyTypedGetsATurnAndIsNoCommand(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput)
	fx.settings.AllowFrom["net"] = nil // nobody
	fx.start()
	for _, text := range []string{"build 7", "/stop", "/run x", "1"} {
		accepted := musttest.Get(fx.gw.Ask(t.Context(), gateway.AutomaticMessage{Origin: channels.ByHook("ci"), Chat: netChat("1"), Text: text}))(t)
		musttest.Do(t, fx.gw.AwaitDelivery(t.Context(), accepted.Inbound))
	}
	fx.expect("1", "build 7 hook:ci hook:ci", "/stop hook:ci hook:ci", "/run x hook:ci hook:ci", "1 hook:ci hook:ci")
	for _, c := range fx.net.Sent("1") {
		wanttest.Equal(t, "it replies to", c.ReplyTo, "")
	}
}

func TestAPersonGoesAheadOfMessagesThatNobodyTyped(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`;; esac
		printf '%s' "$line" | sed -n 's/.*"text":"\([^"]*\)".*/\1/p'`).start()
	fx.net.UserWrites("1", "u", "first")
	fx.awaitFile("up")
	for _, text := range []string{"a", "b", "c"} {
		musttest.Get(fx.gw.Ask(t.Context(), gateway.AutomaticMessage{Origin: channels.ByHook("ci"), Chat: netChat("1"), Text: text}))(t)
	}
	fx.net.UserWrites("1", "u", "second")
	fx.net.UserWrites("1", "v", "third")
	fx.awaitText("1", "Queued.")
	fx.awaitQueue(netChat("1"), 5)
	fx.touchFile("go")
	fx.expect("1", "first", "second", "third", "a", "b", "c")
}

// awaitQueue waits until this many messages of a chat wait.
func (fx *fixture) awaitQueue(chat channels.Chat, n int) {
	fx.t.Helper()
	for deadline := time.Now().Add(testTimeout); ; time.Sleep(time.Millisecond) {
		if got := musttest.Get(fx.store.CountPending(fx.t.Context(), chat))(fx.t); got == n {
			return
		} else if time.Now().After(deadline) {
			fx.t.Fatalf("%d messages wait, want %d", got, n)
		}
	}
}

func TestAQuietTurnShowsOnlyWhatTheAgentSends(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in
		*nothing*) ;;
		*fails*) echo oops >&2; exit 3;;
		*error*) echo '{"type":"error","text":"broken"}';;
		*progress*) echo '{"type":"progress","text":"working"}';;
		*) echo '{"type":"progress","text":"working"}'; echo '{"type":"message","text":"said"}'; exit 4;;
		esac`)
	fx.boardDelay = time.Nanosecond
	fx.start()
	var want []string
	for _, text := range []string{"nothing", "fails", "error", "progress", "speak"} {
		m := gateway.AutomaticMessage{Origin: channels.BySchedule("s"), Chat: netChat("1"), Text: text, Quiet: true}
		accepted := musttest.Get(fx.gw.Ask(t.Context(), m))(t)
		musttest.Do(t, fx.gw.AwaitDelivery(t.Context(), accepted.Inbound))
		inbound, _, _ := fx.store.Inbound(t.Context(), accepted.Inbound)
		want = append(want, text+" "+inbound.Outcome.Status)
	}
	fx.expect("1", "said")
	wanttest.Equal(t, "calls", len(fx.net.Sent("1")), 1)
	wanttest.Equal(t, "the outcomes", strings.Join(want, ", "), "nothing silent, fails failed, error failed, progress silent, speak failed")
	loud := gateway.AutomaticMessage{Origin: channels.BySchedule("s"), Chat: netChat("2"), Text: "nothing"}
	musttest.Get(fx.gw.Ask(t.Context(), loud))(t)
	fx.awaitText("2", "no output")
}

func TestAPressedButtonOfASentMessageIsTheNextMessage(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput).start()
	m := gateway.AutomaticMessage{Origin: channels.ByAsk, Chat: netChat("1"), Text: "Deploy?", Buttons: []string{"Yes, now", "No"}, Key: "d"}
	musttest.Get(fx.gw.Send(t.Context(), m))(t)
	sent := fx.awaitText("1", "Deploy?")
	again := musttest.Get(fx.gw.Send(t.Context(), m))(t)
	wanttest.Equal(t, "the second is a duplicate:", again.Duplicate, true)
	fx.net.UserPresses("1", "u", sent.Buttons[0])
	fx.expect("1", "Deploy?", "Yes, now person u")
}

func TestWhatNobodyTypedIsRefusedWithAReason(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput).start()
	for _, c := range []struct {
		send bool
		m    gateway.AutomaticMessage
		want error
	}{
		{true, gateway.AutomaticMessage{Chat: channels.Chat{Channel: "fax", ID: "1"}, Text: "x"}, gateway.ErrNoChannel},
		{false, gateway.AutomaticMessage{Chat: netChat("1"), Text: "x", Agent: "nobody"}, gateway.ErrNoAgent},
		{true, gateway.AutomaticMessage{Chat: netChat("1"), Text: " \n"}, gateway.ErrEmpty},
		{true, gateway.AutomaticMessage{Chat: netChat("1"), Text: "x", Buttons: []string{"\x1b\n "}}, gateway.ErrBadButton},
		{false, gateway.AutomaticMessage{Chat: netChat("1")}, gateway.ErrEmpty},
	} {
		do := fx.gw.Ask
		if c.send {
			do = fx.gw.Send
		}
		c.m.Origin = channels.ByAsk
		_, err := do(t.Context(), c.m)
		wanttest.Equal(t, "refused as expected:", errors.Is(err, c.want), true)
	}
}

func TestARemindersTurnEndsWithTheAccessOfItsMaker(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; case "$line" in *first*) touch up; `+waitForFileScript("go")+`;; esac; echo ran`)
	fx.settings.AllowFrom["net"] = []string{"u", "v"}
	fx.start()
	fx.net.UserWrites("1", "v", "first")
	fx.awaitFile("up")
	for _, maker := range []string{"u", "v", ""} {
		m := gateway.AutomaticMessage{Origin: channels.BySchedule("x"), Maker: maker, Chat: netChat("1"), Text: "of " + maker}
		musttest.Get(fx.gw.Ask(t.Context(), m))(t)
	}
	set := fx.settings
	set.AllowFrom = map[string][]string{"net": {"v"}}
	set.Agents = fx.agents(zap.NewNop())
	fx.gw.Reload(set)
	fx.awaitQueue(netChat("1"), 2)
	fx.touchFile("go")
	fx.expect("1", "ran", "ran", "ran")
	for _, inbound := range musttest.Get(fx.store.Recent(t.Context(), netChat("1"), 9))(t) {
		if inbound.In.Maker == "u" && inbound.State != store.Dead {
			t.Errorf("the reminder of a person without access is %s", inbound.State)
		}
	}
}

func TestAReminderComesIntoItsChatAndIsGone(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput).start()
	fx.net.UserWrites("1", "u", "/remind 1s tea & *cake*")
	fx.awaitText("1", "I will remind you at")
	wanttest.Equal(t, "it says", fx.awaitText("1", "⏰").Text, `⏰ tea \& \*cake\*`)
	fx.net.UserWrites("1", "u", "/schedules")
	fx.awaitText("1", "no reminders")
}
