package gateway_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/schedule"
	"nanobot/internal/musttest"
)

func TestSchedulesSayWhyTheGatewayRefusesTheirMessages(t *testing.T) {
	t.Parallel()
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
				t.Errorf("%s: %q, want %q", e.Schedule, got, left[e.Schedule])
			}
			if !strings.HasPrefix(left[e.Schedule], e.Status) && left[e.Schedule] != "" {
				t.Errorf("%s: the event says %s", e.Schedule, e.Status)
			}
			delete(left, e.Schedule)
		case <-time.After(testTimeout):
			t.Fatalf("never due: %v", left)
		}
	}
}
