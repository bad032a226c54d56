package process_test

import (
	"testing"
	"testing/synctest"
	"time"

	"nanobot/terminal/process"
)

func TestAStopwatchRingsOnceWhenItsTimeIsUp(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, time.Second, 7300 * time.Millisecond, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began, rung := time.Now(), []time.Duration(nil)
			s := process.NewStopwatch(d, func() { rung = append(rung, time.Since(began)) })
			time.Sleep(d / 3)
			if left := s.Left(); left != d-d/3 {
				t.Errorf("of %v are left %v", d, left)
			}
			time.Sleep(2 * d)
			synctest.Wait()
			if len(rung) != 1 || rung[0] != d {
				t.Errorf("for %v it rang at %v", d, rung)
			}
			if s.Left() != 0 {
				t.Errorf("%v are left behind the end", s.Left())
			}
		})
	}
}

func TestAStopwatchThatIsStoppedDoesNotRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := process.NewStopwatch(10*time.Second, func() { t.Error("it rang") })
		time.Sleep(9 * time.Second)
		s.Stop()
		s.Stop()
		time.Sleep(time.Minute)
	})
}
