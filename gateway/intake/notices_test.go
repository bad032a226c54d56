package intake_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/notices"
	"nanobot/gateway/store"
)

func TestAMessageThatWaitsIsAnnouncedSilentlyAfterTwoSecondsUntilItsTurnBegins(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		time.Sleep(time.Second)
		fx.writeMessage("ann", "three")
		time.Sleep(time.Second - time.Nanosecond)
		fx.checkVisible()
		time.Sleep(time.Nanosecond)
		fx.checkVisible("t1 Queued.")
		time.Sleep(time.Second)
		fx.checkVisible("t1 Queued.", "t2 Queued.")
		fx.checkEqual("the notices are silent", []bool{fx.outbox.shown[0].Silent, fx.outbox.shown[1].Silent}, []bool{true, true})
		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.checkVisible("t2 Queued.")
		fx.finishTurn("ann")
		fx.claimNext("ann")
		fx.checkVisible()
	})
}

func TestAMessageWhoseTurnComesWithinTwoSecondsIsNotAnnounced(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		time.Sleep(2*time.Second - time.Nanosecond)
		fx.finishTurn("ann")
		fx.claimNext("ann")
		time.Sleep(time.Minute)
		fx.checkVisible()
		fx.checkEqual("shown at any time", len(fx.outbox.shown), 0)
	})
}

func TestTheNoticeDisappearsHoweverAMessageLeavesTheQueue(t *testing.T) {
	for name, leave := range map[string]func(fx *fixture){
		"/stop all": func(fx *fixture) { fx.writeMessage("ann", "/stop all", "1 waiting message dropped.") },
		"an operator": func(fx *fixture) {
			if n, err := fx.store.Cancel(fx.t.Context(), chatOf("ann"), fx.recent(chatOf("ann"))[0].ID); n != 1 || err != nil {
				fx.t.Errorf("cancelled %d, %v", n, err)
			}
			time.Sleep(10 * time.Second) // nobody tells intake
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.writeMessage("ann", "one")
				fx.writeMessage("ann", "two")
				time.Sleep(2 * time.Second)
				fx.checkVisible("t1 Queued.")
				leave(fx)
				fx.checkVisible()
			})
		})
	}
}

func TestAFloodOfMessagesHasFewNotices(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		for range 40 {
			fx.writeMessage("ann", "again")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		fx.checkEqual("notices", len(fx.outbox.visible), 20)
	})
}

func TestWhereReactionsAreUsedAWaitingMessageGetsOneInsteadOfANotice(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.net.reacts = true
		fx.writeMessage("ann", "one")
		waiting := fx.writeMessage("ann", "two")
		dropped := fx.writeMessage("ann", "three")
		time.Sleep(time.Minute)
		fx.checkVisible()
		want := []string{waiting.In.ID + " taken", dropped.In.ID + " taken"}
		fx.checkEqual("reactions", fx.outbox.reactions, want)
		fx.finishTurn("ann")
		fx.claimNext("ann")
		synctest.Wait()
		fx.checkEqual("reactions of intake to a turn", fx.outbox.reactions, want)
		fx.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		synctest.Wait()
		fx.checkEqual("reactions at last", fx.outbox.reactions, slices.Concat(want, []string{dropped.In.ID + " "}))
	})
}

func TestAReactionIsClearedHoweverAMessageLeavesTheQueueWithoutATurn(t *testing.T) {
	for name, leave := range map[string]func(fx *fixture){
		"read by the running turn": func(fx *fixture) {
			fx.lanes.turns[chatOf("ann")].reader = &fakeReader{}
			if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); err != nil {
				fx.t.Error(err)
			}
		},
		"cancelled": func(fx *fixture) {
			fx.pressButton("ann", fmt.Sprint("cancel:", fx.recent(chatOf("ann"))[0].ID), "Cancelled.")
		},
		"its sender has lost access": func(fx *fixture) {
			if err := fx.store.Dismiss(fx.t.Context(), store.Person{Channel: "net", User: "ann"}); err != nil {
				fx.t.Error(err)
			}
			time.Sleep(10 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.net.reacts = true
				fx.writeMessage("ann", "one")
				waiting := fx.writeMessage("ann", "two").In.ID
				leave(fx)
				synctest.Wait()
				fx.checkEqual("reactions", fx.outbox.reactions, []string{waiting + " taken", waiting + " "})
			})
		})
	}
}

// Nothing would clear the reactions of messages that are not watched.
func TestOnlyMessagesThatAreWatchedGetAReaction(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.net.reacts = true
		for range 40 {
			fx.writeMessage("ann", "again")
		}
		synctest.Wait()
		fx.checkEqual("reactions", len(fx.outbox.reactions), 20)
		fx.writeMessage("ann", "/stop all", "39 waiting messages dropped.")
		synctest.Wait()
		fx.checkEqual("reactions after /stop all", len(fx.outbox.reactions), 40)
	})
}

func TestTheReactionsOfAnEarlierRunAreClearedToo(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.writeMessage("ann", "one")
		waiting := fx.writeMessage("ann", "two").In.ID // the earlier run has shown a reaction
		fx.net.reacts = true
		o := fx.options
		after := notices.New(notices.Options{Channels: o.Channels, Store: fx.store, Outbox: fx.outbox, Words: o.Words, Log: zap.NewNop()})
		o.Notices = after
		next := intake.New(o)
		ctx, cancel := context.WithCancel(fx.t.Context())
		defer cancel()
		go after.Run(ctx)
		synctest.Wait()
		stop := fx.message("ann", "/stop all")
		if err := next.Receive(ctx, stop); err != nil {
			fx.t.Error(err)
		}
		synctest.Wait()
		fx.checkEqual("reactions", fx.outbox.reactions, []string{waiting + " "})
	})
}

func TestANoticeIsNotRepeatedIfItMayBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		err  channels.SendError
		sent int
	}{
		"refused for the moment": {channels.SendError{Err: errors.New("429"), After: time.Second}, 5},
		"may be shown":           {channels.SendError{Err: errors.New("504"), Unknown: true, After: time.Second}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(fx *fixture) {
				fx.outbox.showError = &c.err
				fx.writeMessage("ann", "one")
				fx.writeMessage("ann", "two")
				time.Sleep(time.Minute)
				synctest.Wait()
				fx.checkEqual("sent", len(fx.outbox.shown), c.sent)
			})
		})
	}
}

// Reacts makes the network a channels.Reactor.
func (n *network) Reacts(channels.Chat) bool { return n.reacts }

// React is not called: the fake outbox records reactions.
func (n *network) React(context.Context, channels.Chat, string, channels.Reaction) error { return nil }
