package process_test

import (
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

func TestAStopwatchCallsItsFunctionOnce(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, time.Second, 7300 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began, rung := time.Now(), []time.Duration(nil)
			s := process.NewStopwatch(d, func() { rung = append(rung, time.Since(began)) })
			time.Sleep(d / 3)
			if left := s.Remaining(); left != d-d/3 {
				t.Errorf("of %v are left %v", d, left)
			}
			time.Sleep(2 * d)
			synctest.Wait()
			if len(rung) != 1 || rung[0] != d {
				t.Errorf("for %v it rang at %v", d, rung)
			}
			wanttest.Equal(t, "are left behind the end:", s.Remaining(), 0)
		})
	}
}

func TestAStoppedStopwatchDoesNotCallItsFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := process.NewStopwatch(10*time.Second, func() { t.Error("it rang") })
		time.Sleep(9 * time.Second)
		s.Stop()
		s.Stop()
		time.Sleep(time.Minute)
	})
}

func TestAPauseDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, rang := time.Now(), time.Duration(0)
		s := process.NewStopwatch(10*time.Second, func() { rang = time.Since(began) })
		time.Sleep(4100 * time.Millisecond)
		first, second := s.Pause(), s.Pause()
		time.Sleep(time.Hour)
		wanttest.Equal(t, "are left in the pause:", s.Remaining(), 5900*time.Millisecond)
		first()
		first()
		time.Sleep(time.Hour)
		if rang != 0 {
			t.Fatal("it rang in a pause")
		}
		second()
		time.Sleep(time.Minute)
		synctest.Wait()
		wanttest.Equal(t, "it rang after", rang, 10*time.Second+2*time.Hour)
	})
}

func TestAStopwatchStoppedInAPauseDoesNotCallItsFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := process.NewStopwatch(time.Second, func() { t.Error("it rang") })
		resume := s.Pause()
		s.Stop()
		resume()
		time.Sleep(time.Minute)
	})
}

func TestAChannelIsClosedAfterATimeUnlessItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stopped, stop := process.After(time.Second)
		stop()
		for _, d := range []time.Duration{0, 2 * time.Second} {
			over, stop := process.After(d)
			select {
			case <-over:
			case <-stopped:
				t.Error("a stopped channel was closed")
			}
			stop()
		}
		wanttest.Equal(t, "time passed", time.Since(began).Round(time.Millisecond), 2*time.Second)
	})
}
