package turn_test

import (
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// questionsOf returns an open question of each inbound message.
func questionsOf(inbounds ...int64) (all []store.Question) {
	for _, id := range inbounds {
		all = append(all, store.Question{ID: "q" + string(rune('0'+id)), Inbound: id, Chat: ann})
	}
	return all
}

func TestTheQuestionOfATurnThatACrashHasEndedLosesItsButtons(t *testing.T) {
	for name, user := range map[string]string{"reported": "u", "revoked": "stranger"} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t, sayingAgent("hi"))
			defer r.stop()
			r.disk.questions = questionsOf(6, 7)
			adopted := []store.Inbound{{
				ID: 7, Attempt: 1, In: channels.Incoming{Chat: ann, ID: "m1", User: channels.User{ID: user}},
				Process: store.Process(terminal.RecordStarting()), Outcome: store.Outcome{Status: map[string]string{"stranger": store.Revoked}[user]},
			}}
			if err := r.Recover(t.Context(), store.Adopted{Inbounds: adopted}); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "outcomes", r.box.outcomes, "[q7: no answer]")
		})
	}
}

func TestAQuestionThatOnlyTheAttemptBeforeACrashAskedLosesItsButtons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFixture(t, sayingAgent("hi"))
		r.disk.questions = questionsOf(6, 7)
		r.NewTurn(store.Inbound{ID: 7, Attempt: 2, In: channels.Incoming{Chat: ann, ID: "m1"}}, &r.slot).Run(t.Context())
		r.stop()
		checkEqual(t, "outcomes", r.box.outcomes, "[q7: no answer]")
	})
}
