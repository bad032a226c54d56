package intake_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
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
		r.checkVisible("t1 Queued, number 1 in line.")
		time.Sleep(time.Second)
		r.checkVisible("t1 Queued, number 1 in line.", "t2 Queued, number 2 in line.")
		r.checkEqual("the notices are silent", []bool{r.outbox.shown[0].Silent, r.outbox.shown[1].Silent}, []bool{true, true})
		r.finishTurn("ann")
		r.claimNext("ann")
		r.checkVisible("t2 Queued, number 2 in line.")
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
				r.checkVisible("t1 Queued, number 1 in line.")
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

// Reacts makes the network a channels.Reactor.
func (n *network) Reacts(channels.Chat) bool { return n.reacts }

// React is not called: the fake outbox records reactions.
func (n *network) React(context.Context, channels.Chat, string, channels.Reaction) error { return nil }
