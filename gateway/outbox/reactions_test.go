package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
	"nanobot/internal/wanttest"
)

// reactingChannel uses reactions in ann's chat, and shows them when the test lets it.
type reactingChannel struct {
	fakeChannel
	release chan struct{}
	refuse  func(r channels.Reaction) error // nil: no reaction is refused

	shownMu sync.Mutex
	shown   []string
}

func (c *reactingChannel) setRefuse(refuse func(channels.Reaction) error) {
	c.shownMu.Lock()
	defer c.shownMu.Unlock()
	c.refuse = refuse
}

func (c *reactingChannel) Reacts(chat channels.Chat) bool { return chat == ann }

func (c *reactingChannel) React(ctx context.Context, _ channels.Chat, id string, r channels.Reaction) error {
	select {
	case <-c.release:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.shownMu.Lock()
	defer c.shownMu.Unlock()
	if c.refuse != nil {
		if err := c.refuse(r); err != nil {
			return err
		}
	}
	c.shown = append(c.shown, id+" "+string(r))
	return nil
}

// shownSoFar returns the reactions that were shown.
func (c *reactingChannel) shownSoFar() []string {
	c.shownMu.Lock()
	defer c.shownMu.Unlock()
	return slices.Clone(c.shown)
}

// newReacting returns an outbox without a store, whose network shows no reaction yet.
func newReacting() (*outbox.Outbox, *reactingChannel) {
	c := &reactingChannel{release: make(chan struct{})}
	return outbox.New(outbox.Options{Channels: map[string]channels.Channel{"net": c}, Log: zap.NewNop()}), c
}

func TestOnlyTheLatestReactionIsShownAndNobodyWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, c := newReacting()
		defer runOutbox(t, box)()
		box.React(ann, "1", channels.Taken)
		synctest.Wait() // the call hangs
		box.React(ann, "1", channels.NoReaction)
		box.React(ann, "1", channels.Finished)
		box.React(bob, "2", channels.Taken)
		box.React(ann, "", channels.Taken)
		close(c.release)
		synctest.Wait()
		wanttest.Equal(t, "shown are", fmt.Sprint(c.shownSoFar()), "[1 taken 1 done]")
		box.React(ann, "1", channels.Broken)
		synctest.Wait()
		wanttest.Equal(t, "shown are", fmt.Sprint(c.shownSoFar()), "[1 taken 1 done 1 failed]")
	})
}

func TestReactionsThatTheNetworkDoesNotShowAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, c := newReacting()
		defer runOutbox(t, box)()
		for i := range 1000 {
			box.React(ann, fmt.Sprint(i), channels.Taken)
		}
		synctest.Wait()
		time.Sleep(11 * time.Second) // the hanging calls time out
		close(c.release)
		synctest.Wait()
		wanttest.Equal(t, "reactions were shown too late:", len(c.shownSoFar()), 0)
		box.React(ann, "new", channels.Taken)
		synctest.Wait()
		wanttest.Equal(t, "shown are", fmt.Sprint(c.shownSoFar()), "[new taken]")
	})
}

// refusing returns an outbox whose network refuses a reaction until the given time has passed.
func refusing(reaction channels.Reaction, d time.Duration, err error) (*outbox.Outbox, *reactingChannel) {
	box, c := newReacting()
	close(c.release)
	until := time.Now().Add(d)
	c.refuse = func(r channels.Reaction) error {
		if r == reaction && time.Now().Before(until) {
			return err
		}
		return nil
	}
	return box, c
}

func TestTheLastReactionIsRepeatedUntilTheNetworkShowsIt(t *testing.T) {
	for name, err := range map[string]error{"for now": wait(30 * time.Second), "by a broken network": errors.New("no route")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box, c := refusing(channels.Finished, time.Minute, err)
				defer runOutbox(t, box)()
				box.React(ann, "1", channels.Taken)
				synctest.Wait()
				box.React(ann, "1", channels.Finished)
				time.Sleep(59 * time.Second)
				synctest.Wait()
				wanttest.Equal(t, "shown are", fmt.Sprint(c.shownSoFar()), "[1 taken]")
				time.Sleep(time.Minute)
				synctest.Wait()
				wanttest.Equal(t, "shown are", fmt.Sprint(c.shownSoFar()), "[1 taken 1 done]")
			})
		})
	}
}

func TestARefusedReactionIsNotRepeatedAfterANewerOneOrWhenItSaysNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, c := refusing(channels.Taken, 5*time.Second, wait(6*time.Second))
		defer runOutbox(t, box)()
		box.React(ann, "1", channels.Taken)
		box.React(ann, "2", channels.Taken)
		time.Sleep(time.Second)
		synctest.Wait()
		box.React(ann, "1", channels.Finished)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(c.shownSoFar()); got != "[1 done 2 taken]" && got != "[2 taken 1 done]" {
			t.Errorf("shown are %s", got)
		}
		c.setRefuse(func(channels.Reaction) error { return wait(11 * time.Second) })
		box.React(ann, "3", channels.Taken)
		time.Sleep(time.Second)
		synctest.Wait()
		c.setRefuse(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(c.shownSoFar()) != 2 {
			t.Errorf("shown are %s", c.shownSoFar())
		}
	})
}

// reactingBoards is a boardChannel that shows reactions.
type reactingBoards struct{ *boardChannel }

func (reactingBoards) Reacts(channels.Chat) bool { return true }

func (c reactingBoards) React(_ context.Context, _ channels.Chat, _ string, r channels.Reaction) error {
	return c.do("react " + string(r))
}

func TestTheEndOfATurnIsShownAsAReactionWhenItsAnswerIsConfirmed(t *testing.T) {
	for want, err := range map[string]error{
		"[send answer react done]": wait(time.Minute), "[react failed]": &channels.SendError{Err: errors.New("blocked"), Permanent: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newBoardFixture(t, nil)
			r.stop()
			r.ch.refuse = refuseFor(time.Minute, "send", err)
			r.Outbox = outbox.New(outbox.Options{
				Store: r.store, Channels: map[string]channels.Channel{"net": reactingBoards{r.ch}}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
			})
			stop := runOutbox(t, r.Outbox)
			r.answer()
			r.ReactWhenSent(ann, "1", r.board.Inbound, channels.Finished)
			if want[1] == 's' {
				time.Sleep(59 * time.Second)
				r.check("[]", 1)
			}
			time.Sleep(5 * time.Minute)
			stop()
			r.check(want, 1)
		})
	}
}

func TestAReactionDoesNotWaitForTheAnswersToOtherMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBoardFixture(t, nil)
		r.stop()
		refused := refuseFor(10*time.Second, "send", wait(10*time.Second))
		r.ch.refuse = func(call string) error {
			if call == "send other" {
				return wait(time.Hour)
			}
			return refused(call)
		}
		r.Outbox = outbox.New(outbox.Options{
			Store: r.store, Channels: map[string]channels.Channel{"net": reactingBoards{r.ch}}, AtMostOnce: func() bool { return false }, Log: zap.NewNop(),
		})
		stop := runOutbox(t, r.Outbox)
		r.answer()
		r.ReactWhenSent(ann, "1", r.board.Inbound, channels.Finished)
		postText(t, r.Outbox, ann, "other")
		postText(t, r.Outbox, ann, "one more")
		time.Sleep(9 * time.Second)
		r.check("[]", 1)
		time.Sleep(2 * time.Second)
		r.check("[send answer react done]", 1)
		stop()
	})
}
