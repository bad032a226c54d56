package tasks_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/tasks"
)

func TestADelayedTaskRunsOnceAfterItsFirstDelayUnlessItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var ran []time.Duration
		began := time.Now()
		task := tasks.NewDelayed(&mu, func() { ran = append(ran, time.Since(began)) })
		act := func(after time.Duration, act func()) {
			time.Sleep(after)
			mu.Lock()
			defer mu.Unlock()
			act()
		}
		act(0, func() { task.Schedule(3 * time.Second) })
		act(time.Second, func() { task.Schedule(time.Second) })
		act(3*time.Second, func() {
			task.Schedule(time.Second)
			if !task.Cancel() || task.Cancel() {
				t.Error("a task is cancelled other than once")
			}
			task.Schedule(2 * time.Second)
		})
		act(10*time.Second, func() {
			if len(ran) != 2 || ran[0] != 3*time.Second || ran[1] != 6*time.Second {
				t.Errorf("ran after %v", ran)
			}
		})
	})
}
