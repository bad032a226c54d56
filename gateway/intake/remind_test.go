package intake_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/intake"
	"nanobot/gateway/schedule"
)

// withSchedules runs a test whose intake has schedules. The texts that they send are in sent.
func withSchedules(t *testing.T, test func(fx *fixture, engine *schedule.Engine, sent func() []string)) {
	runIntake(t, func(fx *fixture) {
		var mu sync.Mutex
		var texts []string
		engine := schedule.New(schedule.Options{
			Store: fx.store, Admits: fx.access.Admits, Log: zap.NewNop(),
			Deliver: func(ctx context.Context, m schedule.Message) (int64, error) {
				mu.Lock()
				defer mu.Unlock()
				texts = append(texts, m.Schedule.Chat.ID+" "+m.Spec.Text)
				last := m.Occurrences[len(m.Occurrences)-1]
				return 1, fx.store.Account(ctx, m.Schedule.Name, last.Due, m.Occurrences)
			},
		})
		engine.Reload(nil)
		ctx, cancel := context.WithCancel(fx.t.Context())
		var work sync.WaitGroup
		work.Go(func() { engine.Run(ctx) })
		defer work.Wait()
		defer cancel()
		synctest.Wait()
		fx.settings.Timezone = "Europe/Berlin"
		fx.options.Schedules = engine
		fx.Intake = intake.New(fx.options)
		test(fx, engine, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return texts
		})
	})
}

func TestARemindersTextComesAtItsTimeAndOnce(t *testing.T) {
	withSchedules(t, func(fx *fixture, _ *schedule.Engine, sent func() []string) {
		// The clock of a bubble begins at 2000-01-01 00:00 UTC, 01:00 in Berlin.
		fx.writeMessage("ann", "/remind 3s look *here*", "I will remind you at 2000-01-01 01:00 CET. /schedules lists the reminders.")
		in := fx.message("ann", "/remind 1h30m twice")
		fx.receive(in, "I will remind you at 2000-01-01 02:30 CET.")
		fx.receive(in) // the network delivers it again
		fx.writeMessage("ann", "/remind 00:30 tomorrow", "I will remind you at 2000-01-02 00:30 CET.")
		fx.writeMessage("ann", "/remind 01:30\ntoday", "I will remind you at 2000-01-01 01:30 CET.")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		fx.checkEqual("sent", sent(), []string{`ann ⏰ look \*here\*`})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		fx.checkEqual("sent after a day", sent()[1:], []string{"ann ⏰ today", "ann ⏰ twice", "ann ⏰ tomorrow"})
		fx.receive(in) // once more, after the reminder
		fx.writeMessage("ann", "/schedules", "This chat has no reminders and no schedules.")
	})
}

func TestAReminderWithoutATimeOrATextIsExplained(t *testing.T) {
	withSchedules(t, func(fx *fixture, engine *schedule.Engine, _ func() []string) {
		for _, text := range []string{"/remind", "/remind 20m", "/remind 20x tea", "/remind 25:00 tea", "/remind 0s tea", "/remind tea 20m", "/remind -3s tea"} {
			fx.writeMessage("ann", text, "Send /remind, a time and a text: /remind 20m look at the oven")
		}
		fx.checkEqual("schedules", len(engine.List(chatOf("ann"))), 0)
	})
}

func TestAChatHasFiftyRemindersAtMost(t *testing.T) {
	withSchedules(t, func(fx *fixture, _ *schedule.Engine, _ func() []string) {
		for i := range schedule.MostInChat {
			fx.writeMessage("ann", fmt.Sprintf("/remind %dh x", i+1), "I will remind you at")
		}
		fx.writeMessage("ann", "/remind 1h x", "This chat has 50 reminders and schedules already")
		fx.writeMessage("bob", "/remind 1h x", "I will remind you at")
	})
}

func TestOnlyTheMakerAndApproversRemoveAReminder(t *testing.T) {
	withSchedules(t, func(fx *fixture, engine *schedule.Engine, _ func() []string) {
		fx.people.Approvers["default"] = []string{"net:carl"}
		fx.writeMessage("ann", "/remind 1h tea", "I will remind you")
		name := engine.List(chatOf("ann"))[0].Name
		fx.writeMessage("ann", "/schedules", "Reminders and schedules of this chat:\n1. 2000-01-01 02:00 CET: ⏰ tea")
		remove := "/unschedule " + name
		press := func(user, said string) {
			in := fx.message(user, "")
			in.Chat, in.Press = chatOf("ann"), remove
			fx.receive(in, said)
		}
		press("bob", "Only the person who has made it and approvers can remove it.")
		fx.checkEqual("schedules", len(engine.List(chatOf("ann"))), 1)
		press("ann", "Removed: ⏰ tea")
		fx.checkEqual("schedules then", len(engine.List(chatOf("ann"))), 0)
		press("ann", "There is no such reminder or schedule any more.")
		fx.writeMessage("ann", "/remind 1h tea", "I will remind you")
		remove = "/unschedule " + engine.List(chatOf("ann"))[0].Name
		fx.people.AllowFrom["net"] = append(fx.people.AllowFrom["net"], "carl")
		press("carl", "Removed: ⏰ tea")
		fx.writeMessage("bob", remove) // typed, it is for the agent
		fx.checkEqual("turns", fx.runningTurn("bob").inbound.In.Text, remove)
	})
}
