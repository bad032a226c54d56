package intake_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/beat"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

func TestAMessageOfAnAdmittedPersonStartsATurnAndMovesTheCursor(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		in := fx.message("ann", "hello")
		in.Cursor = "17"
		fx.receive(in)
		fx.checkEqual("the turn works on", fx.runningTurn("ann").inbound.In.Text, "hello")
		if cursor, err := fx.store.Cursor(fx.t.Context(), "net"); cursor != "17" || err != nil {
			fx.t.Errorf("cursor %q, %v", cursor, err)
		}
	})
}

func TestTheSettingsDecideWhoIsAdmitted(t *testing.T) {
	runIntake(t, func(fx *fixture) {
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
			fx.people.AllowFrom = map[string][]string{"other": {}}
			if c.list != nil {
				fx.people.AllowFrom["net"] = c.list
			}
			if got, err := fx.access.Admits(fx.t.Context(), "net", c.user); got != c.want || err != nil {
				fx.t.Errorf("%s is admitted by %v: %v, %v", c.user, c.list, got, err)
			}
		}
	})
}

const private = "This bot is private. Its operator can let you in with:\n\nnanobot pair "

// codeFor returns the code that a stranger gets for their first message.
func (fx *fixture) codeFor(user, text string) string {
	fx.t.Helper()
	musttest.Do(fx.t, fx.Receive(fx.t.Context(), fx.message(user, text)))
	code, _, _ := strings.Cut(strings.TrimPrefix(fx.checkStored(chatOf(user), private)[0].Out.Text, private), "\n")
	return code
}

func TestAStrangerGetsOneCodeAndIsRecordedOnce(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("eve", "hello", private)
		fx.writeMessage("eve", "let me in")
		fx.writeMessage("eve", "/status")
		fx.checkInbounds("eve")
		fx.checkEqual("records", fx.decisions(), []string{"denied code"})
		fx.checkEqual("log lines", fx.logs.FilterMessage("refused a user who is not allowed").Len(), 1)
		time.Sleep(intake.CodeLifetime)
		fx.writeMessage("eve", "it is too late now", private)
		fx.checkEqual("records later", fx.decisions(), []string{"denied code"})
		fx.checkEqual("log lines later", fx.logs.Len(), 1)
		fx.ResetRefusalLog()
		fx.writeMessage("eve", "again")
		fx.checkEqual("records in the next hour", fx.decisions(), []string{"denied denied"})
		fx.checkEqual("log lines in the next hour", fx.logs.Len(), 2)
	})
}

func TestPairingCodesOfAnHourAreLimited(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		for i := range 60 {
			fx.writeMessage(fmt.Sprint("stranger", i), "hello", private)
		}
		later := "This bot is private, and too many people are asking to be let in."
		fx.writeMessage("eve", "hello", later)
		fx.writeMessage("eve", "hello?")
		time.Sleep(time.Hour)
		fx.writeMessage("eve", "hello!", private)
	})
}

func TestTheLastMessageOfAnAdmittedPersonIsHandledBeforeTheNext(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		code := fx.codeFor("eve", "first")
		fx.writeMessage("eve", "second")
		if _, ok, err := fx.store.Accept(fx.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			fx.t.Fatal(ok, err)
		}
		fx.writeMessage("eve", "third", "You have access now.")
		fx.checkInbounds("eve", "second running", "third pending")
		fx.writeMessage("eve", "fourth")
	})
}

func TestAnAdmittedPersonIsWelcomedWithoutAnotherMessage(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		ctx, cancel := context.WithCancel(fx.t.Context())
		ended := make(chan error)
		beats := beat.NewListener()
		go func() { ended <- fx.WelcomeAdmitted(ctx, beats) }()
		go func() { ended <- beat.Run(ctx, fx.store, func() bool { return true }, zap.NewNop(), beats) }()
		code := fx.codeFor("eve", "hello")
		if _, ok, err := fx.store.Accept(fx.t.Context(), code, intake.CodeLifetime); !ok || err != nil {
			fx.t.Fatal(ok, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		fx.checkStored(chatOf("eve"), "You have access now.")
		fx.checkInbounds("eve", "hello running")
		if pairings, err := fx.store.PairingsToGreet(fx.t.Context(), store.Person{}); len(pairings) > 0 || err != nil {
			fx.t.Errorf("still to be welcomed are %v, %v", pairings, err)
		}
		cancel()
		fx.checkEqual("Welcome ends with", <-ended, error(nil))
		fx.checkEqual("the beats end with", <-ended, error(nil))
	})
}

func TestAPersonWhoLosesAccessIsStoppedAndTheirInjectionsAreWithdrawn(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.WhileRunning = intake.Inject
		fx.writeMessage("ann", "of ann")
		fx.writeMessage("bob", "of bob")
		in := fx.message("bob", "of bob to ann's agent")
		in.Chat = chatOf("ann")
		fx.receive(in)
		fx.agents.idle = map[string][]string{"net:ann": {"ann", "bob"}, "net:bob": {"bob"}, "net:unused": nil}

		fx.watchRevoked(func() { fx.people.AllowFrom["net"] = []string{"ann"} })
		of := fx.lanes.turns
		fx.checkEqual("bob's turn is revoked", of[chatOf("bob")].revoked, true)
		fx.checkEqual("ann's turn is revoked", of[chatOf("ann")].revoked, false)
		fx.checkEqual("who has messages taken back from ann's turn", slices.Compact(of[chatOf("ann")].withdrawn), []string{"bob"})
		fx.checkEqual("released agents", slices.Compact(fx.agents.endedIdle), []string{"net:bob"})
		fx.checkEqual("the state of what bob injected", fx.recent(chatOf("ann"))[0].State, store.Dead)
	})
}

func TestCommandsAreAcceptedUpToTwiceTheRateLimitAndStopAlways(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.RatePerMinute = 2
		tooMany := "That is more than 2 messages a minute."
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		fx.writeMessage("ann", "three", tooMany)
		fx.checkEqual("records", fx.decisions(), []string{"denied rate"})
		fx.writeMessage("ann", "/whoami", "user id: ann")
		fx.writeMessage("ann", "/whoami") // she was told
		fx.writeMessage("bob", "of another person")
		fx.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		fx.checkEqual("the turn is cancelled with", fx.runningTurn("ann").cancelled, []error{errStopped})
		fx.writeMessage("ann", "/new")
		time.Sleep(time.Minute)
		fx.writeMessage("ann", "four")
	})
}

func TestThatThereAreTooManyMessagesIsSaidOnceAMinuteInAChatAndGivesWay(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.RatePerMinute = 1
		tooMany := "That is more than 1 messages a minute."
		for range 2 {
			fx.writeMessage("ann", "one")
			third := fx.message("ann", "two")
			if err := fx.Receive(fx.t.Context(), third); err != nil {
				fx.t.Fatal(err)
			}
			if said := fx.checkStored(chatOf("ann"), tooMany); !said[0].Out.GivesWay || !said[0].Out.Silent {
				fx.t.Errorf("it is %+v", said[0].Out)
			}
			fx.writeMessage("ann", "three")
			fx.receive(fx.messageInChat("bob", "ann", "in another chat", ""), tooMany)
			fx.receive(fx.messageInChat("bob", "ann", "in another chat", ""))
			time.Sleep(time.Minute)
		}
	})
}

func TestAMessageThatIsOfferedAgainCountsOnceForTheRate(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.RatePerMinute = 2
		in := fx.message("ann", "one")
		fx.lanes.broken = store.ErrFull
		for range 5 {
			if err := fx.Receive(fx.t.Context(), in); err == nil {
				fx.t.Error("a message is acknowledged that is not stored")
			}
		}
		fx.lanes.broken = nil
		fx.receive(in)
		fx.writeMessage("ann", "two")
		fx.writeMessage("ann", "three", "That is more than 2 messages a minute.")
	})
}
