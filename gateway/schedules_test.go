package gateway_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/events"
	"nanobot/gateway/schedule"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
)

func TestSchedulesSayWhyTheGatewayRefusesTheirMessages(t *testing.T) {
	t.Parallel()
	// An occurrence that is more than a second late is skipped for this reason.
	pausetest.Try(t, 300*time.Millisecond, func() error { return checkFirstOccurrences(t) })
}

// checkFirstOccurrences checks what became of the first occurrence of each schedule of a gateway.
func checkFirstOccurrences(t *testing.T) (wrong error) {
	t.Helper()
	fx := newFixture(t, `cat >/dev/null; echo '{"type":"message","text":"worked"}'`)
	configured := map[string]schedule.Configured{}
	add := func(name, channel string, spec schedule.Spec) {
		spec.Cron, spec.Timezone = "* * * * * *", "UTC"
		configured[name] = schedule.Configured{Chat: channels.Chat{Channel: channel, ID: name}, Spec: spec}
	}
	add("text", "net", schedule.Spec{Text: "Hello."})
	add("prompt", "net", schedule.Spec{Text: "Work.", Agent: "default", Say: schedule.SayAlways})
	add("channel", "gone", schedule.Spec{Text: "Hello."})
	add("agent", "net", schedule.Spec{Text: "Work.", Agent: "gone"})
	fx.settings.Schedules = configured
	occurred := make(chan events.Event, 1000)
	fx.watch = func(e events.Event) {
		if e.Type == events.Occurred {
			occurred <- e
		}
	}
	fx.start()
	defer fx.stop()
	fx.awaitText("text", "Hello.")
	fx.awaitText("prompt", "worked")
	for left := map[string]string{
		"text": "ran ", "prompt": "ran ", "channel": "skipped no such channel is enabled: gone",
		"agent": "skipped no such agent is configured: gone",
	}; len(left) > 0; {
		select {
		case e := <-occurred:
			all := musttest.Get(fx.store.Occurrences(t.Context(), e.Schedule, 100))(t)
			first := all[len(all)-1]
			if got := string(first.Outcome) + " " + first.Reason; got != left[e.Schedule] && left[e.Schedule] != "" {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %q, want %q", e.Schedule, got, left[e.Schedule]))
			}
			if !strings.HasPrefix(left[e.Schedule], e.Status) && left[e.Schedule] != "" {
				wrong = errors.Join(wrong, fmt.Errorf("%s: the event says %s", e.Schedule, e.Status))
			}
			delete(left, e.Schedule)
		case <-time.After(testTimeout):
			t.Fatalf("never due: %v", left)
		}
	}
	return wrong
}

func TestAPersonIsReminded(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "cat").start()
	fx.net.UserWrites("1", "u", "/remind 1s tea")
	fx.awaitText("1", "I will remind you at")
	fx.awaitText("1", "⏰ tea")
	fx.net.UserWrites("1", "u", "/schedules")
	fx.awaitText("1", "This chat has no reminders")
}

func TestAnAgentCancelsSchedulesForTheirMakersAndForApprovers(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sayInput).start()
	set := fx.settings
	set.Agents = fx.agents(zap.NewNop())
	agent := set.Agents["default"]
	agent.Approvers = []string{"net:boss"}
	set.Agents["default"] = agent
	fx.gw.Reload(set)
	c := fx.connectTools()
	var want []string
	writes := func(user string) {
		fx.net.UserWrites("1", user, "hello")
		want = append(want, "hello person "+user)
		fx.expect("1", want...)
	}
	writes("u")
	made := c.callForJSON("schedule_message", map[string]any{"text": "tea", "in": "1h"})
	name := regexp.MustCompile(`chat\.\w+`).FindString(made)
	for _, step := range []struct{ user, want string }{
		{"v", "only the person who has made"}, {"boss", `"cancelled":true`}, {"boss", "there is no schedule of this name"},
	} {
		writes(step.user)
		got := c.callForJSON("cancel_schedule", map[string]any{"name": name})
		if !strings.Contains(strings.ToLower(got), step.want) {
			t.Errorf("for %s it returned %s, not %s", step.user, got, step.want)
		}
	}
}

func TestWithRulesAnAgentSchedulesPromptsForItself(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, namedEcho("default"))
	fx.addAgent("coder", namedEcho("coder"))
	fx.settings.Routes = []config.Route{{Match: config.Match{Command: config.Values{"code"}}, Agent: "coder"}}
	fx.start()
	wanttest.Equal(t, "it said", fx.writeAndAwait("1", "/code one"), "coder heard one")
	fx.connectToolsOf("coder").callForJSON("schedule_message", map[string]any{"text": "two", "in": "1s", "prompt": true})
	fx.awaitText("1", "coder heard two")
}

func TestAScheduleStartsARunbook(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 20) + "name" // longer than the data of a button
	fx := newRunbookFixture(t, "cat", map[string]string{"gate": gateRunbook, long: gateRunbook})
	fx.settings.Schedules = map[string]schedule.Configured{}
	for chat, runbook := range map[string]string{"1": "gate", "2": long, "3": "gone"} {
		spec := schedule.Spec{At: time.Now().Add(2 * time.Second).Format(time.RFC3339), Runbook: runbook}
		fx.settings.Schedules["of-"+chat] = schedule.Configured{Chat: netChat(chat), Spec: spec}
	}
	fx.start()
	fx.awaitGates("1", 1)
	fx.awaitGates("2", 1)
	fx.awaitText("3", "gone")
}
