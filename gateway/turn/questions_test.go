package turn_test

import (
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// questionsOf returns an open question of each inbound message.
func questionsOf(inbounds ...int64) (all []store.Question) {
	for _, id := range inbounds {
		all = append(all, store.Question{Question: terminal.Question{ID: "q" + string(rune('0'+id))}, Inbound: id, Chat: ann})
	}
	return all
}

func TestTheQuestionOfATurnThatACrashHasEndedLosesItsButtons(t *testing.T) {
	for name, user := range map[string]string{"reported": "u", "revoked": "stranger"} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, sayingAgent("hi"))
			defer fx.stop()
			fx.disk.questions = questionsOf(6, 7)
			adopted := []store.Inbound{{
				ID: 7, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "m1", User: channels.User{ID: user}},
				Process: store.Process(process.NewStartingRecord()), Outcome: store.Outcome{Status: map[string]string{"stranger": store.Revoked}[user]},
			}}
			musttest.Do(t, fx.Recover(t.Context(), store.Adopted{Inbounds: adopted}))
			checkEqual(t, "outcomes", fx.box.outcomes, "[q7: no answer]")
		})
	}
}

func TestAQuestionThatOnlyTheAttemptBeforeACrashAskedLosesItsButtons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, sayingAgent("hi"))
		fx.disk.questions = questionsOf(6, 7)
		fx.NewTurn(store.Inbound{ID: 7, Attempt: 2, In: channels.Incoming{Chat: ann, ID: "m1"}}, &fx.slot).Run(t.Context())
		fx.stop()
		checkEqual(t, "outcomes", fx.box.outcomes, "[q7: no answer]")
	})
}
