package intake_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestAMessageOfAnAdmittedPersonStartsATurnAndMovesTheCursor(t *testing.T) {
	runIntake(t, func(r *fixture) {
		in := r.message("ann", "hello")
		in.Cursor = "17"
		r.receive(in)
		r.checkEqual("the turn works on", r.runningTurn("ann").inbound.In.Text, "hello")
		if cursor, err := r.store.Cursor(r.t.Context(), "net"); cursor != "17" || err != nil {
			r.t.Errorf("cursor %q, %v", cursor, err)
		}
	})
}

func TestTheSettingsDecideWhoIsAdmitted(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for _, c := range []struct {
			list []string // nil: the channel has no access control
			user string
			want bool
		}{
			{[]string{"ann"}, "ann", true},
			{[]string{"ann"}, "Name of ann", false},
			{[]string{}, "ann", false},
			{[]string{"ann", "*"}, "anybody", true},
			{nil, "anybody", true},
		} {
			r.people.AllowFrom = map[string][]string{"other": {}}
			if c.list != nil {
				r.people.AllowFrom["net"] = c.list
			}
			if got, err := r.access.Admits(r.t.Context(), "net", c.user); got != c.want || err != nil {
				r.t.Errorf("%s is admitted by %v: %v, %v", c.user, c.list, got, err)
			}
		}
	})
}

const private = "This bot is private. Its operator can let you in with:\n\nnanobot pair "

// codeFor returns the code that a stranger gets for their first message.
func (r *fixture) codeFor(user, text string) string {
	r.t.Helper()
	if err := r.Receive(r.t.Context(), r.message(user, text)); err != nil {
		r.t.Fatal(err)
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(r.checkStored(chatOf(user), private)[0].Out.Text, private), "\n")
	return code
}

func TestAStrangerGetsOneCodeAndIsRecordedOnce(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("eve", "hello", private)
		r.writeMessage("eve", "let me in")
		r.writeMessage("eve", "/status")
		r.checkInbounds("eve")
		r.checkEqual("records", r.decisions(), []string{"denied code"})
		r.checkEqual("log lines", r.logs.FilterMessage("refused a user who is not allowed").Len(), 1)
		time.Sleep(intake.CodeLifetime)
		r.writeMessage("eve", "it is too late now", private)
		r.checkEqual("records later", r.decisions(), []string{"denied code"})
		r.checkEqual("log lines later", r.logs.Len(), 1)
		r.ResetRefusalLog()
		r.writeMessage("eve", "again")
		r.checkEqual("records in the next hour", r.decisions(), []string{"denied denied"})
		r.checkEqual("log lines in the next hour", r.logs.Len(), 2)
	})
}

func TestPairingCodesOfAnHourAreLimited(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for i := range 60 {
			r.writeMessage(fmt.Sprint("stranger", i), "hello", private)
		}
		later := "This bot is private, and too many people are asking to be let in."
		r.writeMessage("eve", "hello", later)
		r.writeMessage("eve", "hello?")
		time.Sleep(time.Hour)
		r.writeMessage("eve", "hello!", private)
	})
}

func TestTheLastMessageOfAnAdmittedPersonIsHandledBeforeTheNext(t *testing.T) {
	runIntake(t, func(r *fixture) {
		code := r.codeFor("eve", "first")
		r.writeMessage("eve", "second")
		if _, ok, err := r.store.Accept(r.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.writeMessage("eve", "third", "You have access now.")
		r.checkInbounds("eve", "second running", "third pending")
		r.writeMessage("eve", "fourth")
	})
}

func TestAnAdmittedPersonIsWelcomedWithoutAnotherMessage(t *testing.T) {
	runIntake(t, func(r *fixture) {
		ctx, cancel := context.WithCancel(r.t.Context())
		ended := make(chan error)
		go func() { ended <- r.WelcomeAdmitted(ctx) }()
		code := r.codeFor("eve", "hello")
		if _, ok, err := r.store.Accept(r.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		r.checkStored(chatOf("eve"), "You have access now.")
		r.checkInbounds("eve", "hello running")
		if pairings, err := r.store.PairingsToGreet(r.t.Context(), store.Person{}); len(pairings) > 0 || err != nil {
			r.t.Errorf("still to be welcomed are %v, %v", pairings, err)
		}
		cancel()
		r.checkEqual("Welcome ends with", <-ended, error(nil))
	})
}

func TestAPersonWhoLosesAccessIsStoppedAndTheirInjectionsAreWithdrawn(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.WhileRunning = intake.Inject
		r.writeMessage("ann", "of ann")
		r.writeMessage("bob", "of bob")
		in := r.message("bob", "of bob to ann's agent")
		in.Chat = chatOf("ann")
		r.receive(in)
		r.agents.idle = []terminal.IdleAgent{{Chat: "net:ann", Users: []string{"ann", "bob"}}, {Chat: "net:bob", Users: []string{"bob"}}, {Chat: "net:unused"}}

		r.watchRevoked(func() { r.people.AllowFrom["net"] = []string{"ann"} })
		of := r.lanes.turns
		r.checkEqual("bob's turn is revoked", of[chatOf("bob")].revoked, true)
		r.checkEqual("ann's turn is revoked", of[chatOf("ann")].revoked, false)
		r.checkEqual("who has messages taken back from ann's turn", slices.Compact(of[chatOf("ann")].withdrawn), []string{"bob"})
		r.checkEqual("released agents", slices.Compact(r.agents.endedIdle), []string{"net:bob"})
		r.checkEqual("the state of what bob injected", r.recent(chatOf("ann"))[0].State, store.Dead)
	})
}

func TestCommandsAreAcceptedUpToTwiceTheRateLimitAndStopAlways(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.RatePerMinute = 2
		tooMany := "That is more than 2 messages a minute."
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		r.writeMessage("ann", "three", tooMany)
		r.checkEqual("records", r.decisions(), []string{"denied rate"})
		r.writeMessage("ann", "/whoami", "user id: ann")
		r.writeMessage("ann", "/whoami", tooMany)
		r.writeMessage("bob", "of another person")
		r.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		r.checkEqual("the turn is cancelled with", r.runningTurn("ann").cancelled, []error{errStopped})
		r.writeMessage("ann", "/new", tooMany)
		time.Sleep(time.Minute)
		r.writeMessage("ann", "four")
	})
}

func TestAMessageThatIsOfferedAgainCountsOnceForTheRate(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.RatePerMinute = 2
		in := r.message("ann", "one")
		r.lanes.broken = store.ErrFull
		for range 5 {
			if err := r.Receive(r.t.Context(), in); err == nil {
				r.t.Error("a message is acknowledged that is not stored")
			}
		}
		r.lanes.broken = nil
		r.receive(in)
		r.writeMessage("ann", "two")
		r.writeMessage("ann", "three", "That is more than 2 messages a minute.")
	})
}
