package turn_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// usageOf returns the usage of turns as text; "none": a turn does not count.
func usageOf(all []*store.TurnUsage) (texts []string) {
	for _, u := range all {
		if u == nil {
			texts = append(texts, "none")
		} else {
			texts = append(texts, fmt.Sprint(*u))
		}
	}
	return texts
}

func TestUsageIsAddedUpAndStoredWithTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []events.Event
		fx := newFixtureWith(t, func(ctx context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			chat.Report(terminal.Launched(1))
			chat.Report(terminal.Usage{Model: "m", InputTokens: 10, OutputTokens: 1, Cost: 0.5})
			chat.Report(terminal.Usage{Model: "n", InputTokens: 7})
			time.Sleep(3 * time.Second)
			resume := chat.AwaitPerson(ctx)
			time.Sleep(time.Hour)
			if err := resume(ctx); err != nil {
				t.Error(err)
			}
			chat.Report(terminal.Usage{Model: "m", InputTokens: 5, OutputTokens: 2, Cost: 0.25})
			chat.Report(terminal.Usage{Model: "n", InputTokens: -7, Cost: -1})
			return terminal.Outcome{Status: terminal.Failed}, nil
		}, func(o *turn.Options) {
			o.OfferQueue = func(context.Context, channels.Chat) error { return nil }
			o.Events = func(e events.Event) {
				if e.Type == events.Ended {
					ended = append(ended, e)
				}
			}
		})
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "stored", usageOf(fx.disk.used), []string{"{3s [{m 15 3 0.75} {n 7 0 0}]}"})
		checkEqual(t, "told", ended[0].Used, events.Used{Turns: 1, Seconds: 3, InputTokens: 22, OutputTokens: 3, Cost: 0.75})
	})
}

func TestATurnWhoseAgentWasNotStartedDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(context.Context, terminal.Request, terminal.Chat) (terminal.Outcome, error) {
			return terminal.Outcome{}, fmt.Errorf("no workspace")
		})
		fx.beginTurn().Run(t.Context())
		fx.stop()
		checkEqual(t, "stored", usageOf(fx.disk.used), []string{"none"})
	})
}

func TestAnAgentCannotFillTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, func(_ context.Context, _ terminal.Request, chat terminal.Chat) (terminal.Outcome, error) {
			chat.Report(terminal.Launched(1))
			for i := range 100 {
				chat.Report(terminal.Usage{Model: fmt.Sprint("model", i), InputTokens: terminal.MaxTokens, OutputTokens: 1, Cost: terminal.MaxCost})
			}
			return terminal.Outcome{Status: terminal.Done}, nil
		})
		fx.beginTurn().Run(t.Context())
		fx.stop()
		models := fx.disk.used[0].Models
		checkEqual(t, "models", len(models), 17)
		checkEqual(t, "the others", models[16], store.ModelUsage{InputTokens: terminal.MaxTokens, OutputTokens: 84, Cost: terminal.MaxCost})
	})
}

func TestATurnThatWasCutOffCountsOnceItIsReported(t *testing.T) {
	for record, want := range map[store.Process]string{
		{Pid: 1 << 30, Start: "0"}:                   "{0s []}",
		store.Process(process.NewNotStartedRecord()): "",
	} {
		fx := newFixture(t, nil)
		in := store.Inbound{ID: 1, State: store.Running, Attempt: 1, Process: record}
		in.In.Chat = ann
		if err := fx.Recover(t.Context(), store.Adopted{Inbounds: []store.Inbound{in}}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, text := range usageOf(fx.disk.used) {
			got += text
		}
		checkEqual(t, fmt.Sprint("usage of ", record), got, want)
	}
}
