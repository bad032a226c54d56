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
	simulate(t, func(r *rig) {
		in := r.message("ann", "hello")
		in.Cursor = "17"
		r.receive(in)
		r.same("the turn works on", r.running("ann").inbound.In.Text, "hello")
		if cursor, err := r.store.Cursor(r.t.Context(), "net"); cursor != "17" || err != nil {
			r.t.Errorf("cursor %q, %v", cursor, err)
		}
	})
}

func TestTheSettingsDecideWhoIsAdmitted(t *testing.T) {
	simulate(t, func(r *rig) {
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
			r.settings.AllowFrom = map[string][]string{"other": {}}
			if c.list != nil {
				r.settings.AllowFrom["net"] = c.list
			}
			if got, err := r.Admits(r.t.Context(), "net", c.user); got != c.want || err != nil {
				r.t.Errorf("%s is admitted by %v: %v, %v", c.user, c.list, got, err)
			}
		}
	})
}

const private = "This bot is private. Its operator can let you in with:\n\nnanobot pair "

// codeFor is the code that a stranger gets for their first message.
func (r *rig) codeFor(user, text string) string {
	r.t.Helper()
	if err := r.Receive(r.t.Context(), r.message(user, text)); err != nil {
		r.t.Fatal(err)
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(r.told(chatOf(user), private)[0].Out.Text, private), "\n")
	return code
}

func TestAStrangerGetsOneCodeAndIsRecordedOnce(t *testing.T) {
	simulate(t, func(r *rig) {
		r.say("eve", "hello", private)
		r.say("eve", "let me in")
		r.say("eve", "/status")
		r.has("eve")
		r.same("records", r.decisions(), []string{"denied code"})
		r.same("log lines", r.logs.FilterMessage("refused a user who is not allowed").Len(), 1)
		time.Sleep(intake.CodeLifetime)
		r.say("eve", "it is too late now", private)
		r.same("records later", r.decisions(), []string{"denied code"})
		r.same("log lines later", r.logs.Len(), 1)
		r.ResetRefusalLog()
		r.say("eve", "again")
		r.same("records in the next hour", r.decisions(), []string{"denied denied"})
		r.same("log lines in the next hour", r.logs.Len(), 2)
	})
}

func TestPairingCodesOfAnHourAreLimited(t *testing.T) {
	simulate(t, func(r *rig) {
		for i := range 60 {
			r.say(fmt.Sprint("stranger", i), "hello", private)
		}
		later := "This bot is private, and too many people are asking to be let in."
		r.say("eve", "hello", later)
		r.say("eve", "hello?")
		time.Sleep(time.Hour)
		r.say("eve", "hello!", private)
	})
}

func TestTheLastMessageOfAnAdmittedPersonIsHandledBeforeTheNext(t *testing.T) {
	simulate(t, func(r *rig) {
		code := r.codeFor("eve", "first")
		r.say("eve", "second")
		if _, ok, err := r.store.Accept(r.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		r.say("eve", "third", "You have access now.", "Queued, number 1 in line.")
		r.has("eve", "second running", "third pending")
		r.say("eve", "fourth", "Queued, number 2 in line.")
	})
}

func TestAnAdmittedPersonWhoWritesNoMoreIsWelcomed(t *testing.T) {
	simulate(t, func(r *rig) {
		ctx, cancel := context.WithCancel(r.t.Context())
		ended := make(chan error)
		go func() { ended <- r.WelcomeAdmitted(ctx) }()
		code := r.codeFor("eve", "hello")
		if _, ok, err := r.store.Accept(r.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		r.told(chatOf("eve"), "You have access now.")
		r.has("eve", "hello running")
		if pairings, err := r.store.PairingsToGreet(r.t.Context(), store.Person{}); len(pairings) > 0 || err != nil {
			r.t.Errorf("still to be welcomed are %v, %v", pairings, err)
		}
		cancel()
		r.same("Welcome ends with", <-ended, error(nil))
	})
}

func TestAPersonWhoLosesAccessIsStoppedAndTheirInjectionsAreWithdrawn(t *testing.T) {
	simulate(t, func(r *rig) {
		r.settings.WhileRunning = intake.Inject
		r.say("ann", "of ann")
		r.say("bob", "of bob")
		in := r.message("bob", "of bob to ann's agent")
		in.Chat = chatOf("ann")
		r.receive(in)
		r.agents.kept = []terminal.IdleAgent{{Chat: "net:ann", Users: []string{"ann", "bob"}}, {Chat: "net:bob", Users: []string{"bob"}}, {Chat: "net:unused"}}

		ctx, cancel := context.WithCancel(r.t.Context())
		ended := make(chan struct{})
		go func() { r.WatchRevoked(ctx); close(ended) }()
		r.settings.AllowFrom["net"] = []string{"ann"}
		r.RecheckAccess()
		time.Sleep(time.Minute)
		cancel()
		<-ended
		of := r.lanes.turns
		r.same("bob's turn is revoked", of[chatOf("bob")].revoked, true)
		r.same("ann's turn is revoked", of[chatOf("ann")].revoked, false)
		r.same("who has messages taken back from ann's turn", slices.Compact(of[chatOf("ann")].takenBack), []string{"bob"})
		r.same("released agents", slices.Compact(r.agents.released), []string{"net:bob"})
		r.same("the state of what bob injected", r.recent(chatOf("ann"))[0].State, store.Dead)
	})
}

func TestCommandsAreAcceptedUpToTwiceTheRateLimitAndStopAlways(t *testing.T) {
	simulate(t, func(r *rig) {
		r.settings.RatePerMinute = 2
		tooMany := "That is more than 2 messages a minute."
		r.say("ann", "one")
		r.say("ann", "two", "Queued, number 1 in line.")
		r.say("ann", "three", tooMany)
		r.same("records", r.decisions(), []string{"denied rate"})
		r.say("ann", "/whoami", "user id: ann")
		r.say("ann", "/whoami", tooMany)
		r.say("bob", "of another person")
		r.say("ann", "/stop", "1 waiting message dropped.")
		r.same("the turn is cancelled with", r.running("ann").cancelled, []error{errStopped})
		r.say("ann", "/new", tooMany)
		time.Sleep(time.Minute)
		r.say("ann", "four", "Queued, number 1 in line.")
	})
}

func TestAMessageThatIsOfferedAgainCountsOnceForTheRate(t *testing.T) {
	simulate(t, func(r *rig) {
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
		r.say("ann", "two", "Queued")
		r.say("ann", "three", "That is more than 2 messages a minute.")
	})
}
