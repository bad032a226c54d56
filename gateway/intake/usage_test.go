package intake_test

import (
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// TestUsageShowsWhatThePersonHasUsed runs a month from midnight to midnight in UTC.
func TestUsageShowsWhatThePersonHasUsed(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Timezone = "UTC"
		use := func(user string, u store.TurnUsage) {
			inbound := fx.writeMessage(user, "hello")
			musttest.Get(fx.store.Finish(fx.t.Context(), inbound.ID, store.Done, store.Outcome{Usage: &u}))(fx.t)
			delete(fx.lanes.turns, chatOf(user))
		}
		fx.writeMessage("ann", "/usage", "Today: 0 turns, 0 s\n7 days: 0 turns, 0 s\n30 days: 0 turns, 0 s")
		use("ann", store.TurnUsage{Took: time.Minute, Models: []store.ModelUsage{{Cost: 1.5}, {Model: "m", Cost: 0.004}}})
		use("bob", store.TurnUsage{Took: time.Hour})
		time.Sleep(7 * 24 * time.Hour)
		use("ann", store.TurnUsage{Took: time.Second, Models: []store.ModelUsage{{InputTokens: 10, OutputTokens: 5}}})
		time.Sleep(22*24*time.Hour + 23*time.Hour)
		use("ann", store.TurnUsage{Took: 2 * time.Second, Models: []store.ModelUsage{{Model: "m", InputTokens: 1, Cost: 0.004}}})
		fx.writeMessage("ann", "/usage", "Today: 1 turn, 2 s, 1 token read, 0 written, <$0.01\n"+
			"7 days: 1 turn, 2 s, 1 token read, 0 written, <$0.01\n"+
			"30 days: 3 turns, 1 min, 11 tokens read, 5 written, $1.51")
		time.Sleep(time.Hour)
		in := fx.message("ann", "/usage")
		in.User = channels.User{ID: "ann", Language: "de"}
		fx.receive(in, "Heute: 0 Durchgänge, 0 s\n7 Tage: 1 Durchgang, 2 s, 1 Token gelesen, 0 geschrieben, <$0.01\n"+
			"30 Tage: 2 Durchgänge, 3 s, 11 Token gelesen, 5 geschrieben, <$0.01")
	})
}
