package pace_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/pace"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// makeCalls makes so many calls at once that take a time, and returns how long the last has waited.
func makeCalls(t *testing.T, p *pace.Pacer, n int, takes time.Duration) (last time.Duration) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var work sync.WaitGroup
	for range n {
		work.Go(func() {
			returned := musttest.Get(p.WaitOverall(t.Context(), 1))(t)
			mu.Lock()
			last = max(last, time.Since(began))
			mu.Unlock()
			time.Sleep(takes)
			returned()
		})
	}
	work.Wait()
	return last
}

// refuse has Telegram refuse calls of two chats among several, so many times. It returns when these
// no longer count.
func refuse(t *testing.T, p *pace.Pacer, times, calls int) {
	t.Helper()
	for range times {
		var work sync.WaitGroup
		work.Go(func() { makeCalls(t, p, calls, 0) })
		synctest.Wait()
		p.Block(7, time.Second, false)
		p.Block(8, time.Second, false)
		p.Block(9, time.Second, false)
		work.Wait()
		time.Sleep(time.Second)
	}
}

func TestRefusalsOfChatsDoNotLowerTheLimitWhileFewCallsAreMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		refuse(t, p, 10, 13)
		wanttest.Equal(t, "wait of 28", makeCalls(t, p, 28, 0), 0)
	})
}

func TestCallsThatGiveUpMakeRoomForThoseBehindThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		makeCalls(t, p, 28, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 280 {
			work.Go(func() {
				if _, err := p.WaitOverall(ctx, 1); err == nil {
					t.Error("one that gave up was let through")
				}
			})
		}
		synctest.Wait()
		time.AfterFunc(time.Second/2, cancel)
		wanttest.Equal(t, "wait behind 280 calls that give up", makeCalls(t, p, 1, 0), time.Second)
		work.Wait()
	})
}

func TestACallThatALoweredLimitMakesTooLateIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var work sync.WaitGroup
		for range 28 * 14 {
			work.Go(func() {
				returned, err := p.WaitOverall(ctx, 1)
				switch {
				case err == nil:
					returned()
				case !errors.Is(err, channels.ErrBusy):
					t.Errorf("it ends with %v", err)
				}
			})
		}
		synctest.Wait()
		for range 7 { // while all wait
			p.Block(7, time.Second, false)
			p.Block(8, time.Second, false)
			time.Sleep(time.Second)
		}
		work.Wait()
	})
}

func TestAnAlbumFindsRoomAtALoweredLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		refuse(t, p, 10, 28)
		makeCalls(t, p, 1, 0)
		began := time.Now()
		returned, err := p.Wait(t.Context(), 5, 10, pace.Class{GivesWay: true})
		for ; err != nil && time.Since(began) < time.Minute; returned, err = p.Wait(t.Context(), 5, 10, pace.Class{GivesWay: true}) {
			time.Sleep(time.Second / 10)
			makeCalls(t, p, 1, time.Second/4)
		}
		musttest.Do(t, err)
		returned()
	})
}

func TestACallCountsUntilASecondAfterItsResponse(t *testing.T) {
	for _, takes := range []time.Duration{100 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := pace.New(false)
			time.AfterFunc(takes/2, func() { makeCalls(t, p, 1, 0) }) // it sees which calls are over
			wanttest.Equal(t, "wait of the 28th", makeCalls(t, p, 28, takes), 0)
			wanttest.Equal(t, "wait after the responses", makeCalls(t, p, 2, takes), time.Second)
		})
	}
}

func TestALongUploadDelaysNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		for range 2 {
			musttest.Get(p.WaitOverall(t.Context(), 10))(t)
		}
		time.Sleep(time.Second)
		wanttest.Equal(t, "wait of 28 calls", makeCalls(t, p, 28, 0), 0)
	})
}

func TestCallsAreForgottenAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		makeCalls(t, p, 100, 0)
		time.Sleep(time.Second)
		makeCalls(t, p, 1, 0)
		wanttest.Equal(t, "remembered calls", p.Calls(), 1)
	})
}

func TestACallThatIsCancelledLeavesItsPlaceToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		makeCalls(t, p, 28, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		cancel()
		for range 28 {
			if _, err := p.WaitOverall(ctx, 1); err == nil {
				t.Fatal("a cancelled call was made")
			}
		}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for range 28 { // they would wait for longer than half of their time
			if _, err := p.WaitOverall(short, 1); err == nil {
				t.Fatal("a call was made that would have had to wait")
			}
		}
		wanttest.Equal(t, "wait of the next", makeCalls(t, p, 1, 0), time.Second)
	})
}

func TestACallThatWouldWaitForHalfOfItsTimeIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		var work sync.WaitGroup
		work.Go(func() { makeCalls(t, p, 16*28, 0) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		_, err := p.WaitOverall(ctx, 1)
		var se *channels.SendError
		if !errors.As(err, &se) || se.After != 16*time.Second || time.Since(began) > 0 {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		work.Wait()
		wanttest.Equal(t, "the time of 16 times 28 calls", time.Since(began), 15*time.Second)
	})
}

func TestRefusalsLowerTheLimitToFiveAndQuietRaisesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		refuse(t, p, 1, 28)
		wanttest.Equal(t, "wait of 21", makeCalls(t, p, 21, 0), 0)
		wanttest.Equal(t, "wait of the next", makeCalls(t, p, 1, 0), time.Second)
		refuse(t, p, 10, 28)
		time.Sleep(5 * time.Second)
		wanttest.Equal(t, "wait of 5", makeCalls(t, p, 5, 0), 0)
		wanttest.Equal(t, "wait of the 6th", makeCalls(t, p, 1, 0), time.Second)
		time.Sleep(15 * time.Second)
		wanttest.Equal(t, "wait of 6 later", makeCalls(t, p, 6, 0), 0)
		time.Sleep(5 * time.Minute)
		wanttest.Equal(t, "wait of 28 in the end", makeCalls(t, p, 28, 0), 0)
		wanttest.Equal(t, "wait of the 29th", makeCalls(t, p, 1, 0), time.Second)
	})
}

func TestWithALoweredLimitOtherMessagesLeaveRoomForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		refuse(t, p, 2, 28) // 28, 21, 15
		edits := 0
		for i := range 1000 { // as many chats, in 10 s
			time.Sleep(10 * time.Millisecond)
			if returned, err := p.Wait(t.Context(), int64(1000+i), 1, pace.Class{Transient: true, Edit: true}); err == nil {
				musttest.Get(p.WaitOverall(t.Context(), 1))(t)()
				returned()
				edits++
			}
			if i%100 == 99 && i > 100 { // after the first burst
				wanttest.Equal(t, "wait of three answers", makeCalls(t, p, 3, 0), 0)
			}
		}
		if edits < 60 || edits > 110 {
			t.Errorf("%d edits in 10 s", edits)
		}
	})
}
