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
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		time.Sleep(time.Second)
		r.writeMessage("ann", "three")
		time.Sleep(time.Second - time.Nanosecond)
		r.checkVisible()
		time.Sleep(time.Nanosecond)
		r.checkVisible("t1 Queued.")
		time.Sleep(time.Second)
		r.checkVisible("t1 Queued.", "t2 Queued.")
		r.checkEqual("the notices are silent", []bool{r.outbox.shown[0].Silent, r.outbox.shown[1].Silent}, []bool{true, true})
		r.finishTurn("ann")
		r.claimNext("ann")
		r.checkVisible("t2 Queued.")
		r.finishTurn("ann")
		r.claimNext("ann")
		r.checkVisible()
	})
}

func TestAMessageWhoseTurnComesWithinTwoSecondsIsNotAnnounced(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		time.Sleep(2*time.Second - time.Nanosecond)
		r.finishTurn("ann")
		r.claimNext("ann")
		time.Sleep(time.Minute)
		r.checkVisible()
		r.checkEqual("shown at any time", len(r.outbox.shown), 0)
	})
}

func TestTheNoticeDisappearsHoweverAMessageLeavesTheQueue(t *testing.T) {
	for name, leave := range map[string]func(r *fixture){
		"/stop all": func(r *fixture) { r.writeMessage("ann", "/stop all", "1 waiting message dropped.") },
		"an operator": func(r *fixture) {
			if n, err := r.store.Cancel(r.t.Context(), chatOf("ann"), r.recent(chatOf("ann"))[0].ID); n != 1 || err != nil {
				r.t.Errorf("cancelled %d, %v", n, err)
			}
			time.Sleep(10 * time.Second) // nobody tells intake
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.writeMessage("ann", "one")
				r.writeMessage("ann", "two")
				time.Sleep(2 * time.Second)
				r.checkVisible("t1 Queued.")
				leave(r)
				r.checkVisible()
			})
		})
	}
}

func TestAFloodOfMessagesHasFewNotices(t *testing.T) {
	runIntake(t, func(r *fixture) {
		for range 40 {
			r.writeMessage("ann", "again")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		r.checkEqual("notices", len(r.outbox.visible), 20)
	})
}

func TestWhereReactionsAreUsedAWaitingMessageGetsOneInsteadOfANotice(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.net.reacts = true
		r.writeMessage("ann", "one")
		waiting := r.writeMessage("ann", "two")
		dropped := r.writeMessage("ann", "three")
		time.Sleep(time.Minute)
		r.checkVisible()
		want := []string{waiting.In.ID + " taken", dropped.In.ID + " taken"}
		r.checkEqual("reactions", r.outbox.reactions, want)
		r.finishTurn("ann")
		r.claimNext("ann")
		synctest.Wait()
		r.checkEqual("reactions of intake to a turn", r.outbox.reactions, want)
		r.writeMessage("ann", "/stop all", "1 waiting message dropped.")
		synctest.Wait()
		r.checkEqual("reactions at last", r.outbox.reactions, slices.Concat(want, []string{dropped.In.ID + " "}))
	})
}

func TestAReactionIsClearedHoweverAMessageLeavesTheQueueWithoutATurn(t *testing.T) {
	for name, leave := range map[string]func(r *fixture){
		"read by the running turn": func(r *fixture) {
			r.lanes.turns[chatOf("ann")].reader = &fakeReader{}
			if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
				r.t.Error(err)
			}
		},
		"cancelled": func(r *fixture) {
			r.pressButton("ann", fmt.Sprint("cancel:", r.recent(chatOf("ann"))[0].ID), "Cancelled.")
		},
		"its sender has lost access": func(r *fixture) {
			if err := r.store.Dismiss(r.t.Context(), store.Person{Channel: "net", User: "ann"}); err != nil {
				r.t.Error(err)
			}
			time.Sleep(10 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runIntake(t, func(r *fixture) {
				r.net.reacts = true
				r.writeMessage("ann", "one")
				waiting := r.writeMessage("ann", "two").In.ID
				leave(r)
				synctest.Wait()
				r.checkEqual("reactions", r.outbox.reactions, []string{waiting + " taken", waiting + " "})
			})
		})
	}
}

// Nothing would clear the reactions of messages that are not watched.
func TestOnlyMessagesThatAreWatchedGetAReaction(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.net.reacts = true
		for range 40 {
			r.writeMessage("ann", "again")
		}
		synctest.Wait()
		r.checkEqual("reactions", len(r.outbox.reactions), 20)
		r.writeMessage("ann", "/stop all", "39 waiting messages dropped.")
		synctest.Wait()
		r.checkEqual("reactions after /stop all", len(r.outbox.reactions), 40)
	})
}

func TestTheReactionsOfAnEarlierRunAreClearedToo(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.writeMessage("ann", "one")
		waiting := r.writeMessage("ann", "two").In.ID // the earlier run has shown a reaction
		r.net.reacts = true
		o := r.options
		after := notices.New(notices.Options{Channels: o.Channels, Store: r.store, Outbox: r.outbox, Words: o.Words, Log: zap.NewNop()})
		o.Notices = after
		next := intake.New(o)
		ctx, cancel := context.WithCancel(r.t.Context())
		defer cancel()
		go after.Run(ctx)
		synctest.Wait()
		stop := r.message("ann", "/stop all")
		if err := next.Receive(ctx, stop); err != nil {
			r.t.Error(err)
		}
		synctest.Wait()
		r.checkEqual("reactions", r.outbox.reactions, []string{waiting + " "})
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
			runIntake(t, func(r *fixture) {
				r.outbox.showError = &c.err
				r.writeMessage("ann", "one")
				r.writeMessage("ann", "two")
				time.Sleep(time.Minute)
				synctest.Wait()
				r.checkEqual("sent", len(r.outbox.shown), c.sent)
			})
		})
	}
}

// Reacts makes the network a channels.Reactor.
func (n *network) Reacts(channels.Chat) bool { return n.reacts }

// React is not called: the fake outbox records reactions.
func (n *network) React(context.Context, channels.Chat, string, channels.Reaction) error { return nil }
