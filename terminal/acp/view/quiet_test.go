package view

import (
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestTheBoardSaysThatTheAgentIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		expect := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := r.Last(terminal.Progress); got != want {
				t.Errorf("the board is %q, want %q", got, want)
			}
		}
		v.ShowThinking()
		expect("Thinking…")
		time.Sleep(5*time.Minute - time.Second)
		expect("Thinking…")
		time.Sleep(2 * time.Second)
		expect("Thinking…\n⚠ No sign of life from the agent for 5 minutes. /stop ends the turn.")
		time.Sleep(2 * time.Minute)
		expect("Thinking…\n⚠ No sign of life from the agent for 7 minutes. /stop ends the turn.")
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"1","title":"x"}`)
		time.Sleep(time.Second)
		expect("🔧 x …")
		time.Sleep(4 * time.Minute)
		v.RecordLife() // by a request
		time.Sleep(4 * time.Minute)
		v.beginQuestion() // the agent waits for the person
		time.Sleep(time.Hour)
		v.endQuestion()
		time.Sleep(4 * time.Minute)
		expect("🔧 x …")
		time.Sleep(2 * time.Minute)
		expect("🔧 x …\n⚠ No sign of life from the agent for 6 minutes. /stop ends the turn.")
		closeView(t, v)
	})
}

func TestTheBoardIsInTheLanguageOfThePerson(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	turn.Words = (*words.Catalogue)(nil).For("de")
	v := New(turn, nil)
	v.ShowThinking()
	if got := r.Last(terminal.Progress); got != "Denkt nach…" {
		t.Errorf("the board is %q", got)
	}
	closeView(t, v)
}
