package intake_test

import (
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/schedule"
	"nanobot/internal/musttest"
)

func TestADeletedChatHasNoTurnNoQueueNoMemoriesAndNoRemindersAndIsToldNothing(t *testing.T) {
	withSchedules(t, func(fx *fixture, engine *schedule.Engine, _ func() []string) {
		for _, user := range []string{"ann", "bob"} {
			fx.writeMessage(user, "/remind 3h look", "I will remind you")
			musttest.Do(fx.t, fx.store.Remember(fx.t.Context(), chatOf(user), "session", "s1"))
			fx.writeMessage(user, "one")
			fx.writeMessage(user, "two")
		}
		fx.decisions()
		fx.agents.left = 2
		deletion := fx.message("ann", "")
		deletion.Change = channels.ChatDeleted
		fx.denied.Store("ann", true) // she has lost access since, or signed out
		fx.receive(deletion)
		fx.checkInbounds("ann", "/remind 3h look done", "one running", "two dead", " done")
		fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.checkEqual("it saves nothing more", fx.runningTurn("ann").forgot, true)
		fx.checkEqual("its session", musttest.Get(fx.store.Recall(fx.t.Context(), chatOf("ann"), "session"))(fx.t), "")
		fx.checkEqual("ended sessions", fx.agents.endedSessions, []string{chatOf("ann").String()})
		fx.checkEqual("reminders", len(engine.List(chatOf("ann"))), 0)
		fx.checkEqual("records", fx.decisions(), []string{"command allowed chat-deleted"})

		fx.checkInbounds("bob", "/remind 3h look done", "one running", "two pending")
		fx.checkEqual("bob's turn is cancelled with", fx.runningTurn("bob").cancelled, []error(nil))
		fx.checkEqual("his session", musttest.Get(fx.store.Recall(fx.t.Context(), chatOf("bob"), "session"))(fx.t), "s1")
		fx.checkEqual("his reminders", len(engine.List(chatOf("bob"))), 1)

		fx.receive(deletion) // the network delivers it again
		fx.checkEqual("after a repetition", fmt.Sprint(len(fx.recent(chatOf("ann"))), fx.decisions()), "4 []")
	})
}
