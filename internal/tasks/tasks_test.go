package tasks_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nanobot/internal/tasks"
)

func TestRunReturnsWhenTheLastTaskHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := tasks.New()
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan struct{})
		release := make(chan struct{})
		ended := 0
		g.Go(func(context.Context) { // before Run
			<-release
			g.Go(func(ctx context.Context) { // a task may begin others, also while Run ends
				if ctx.Err() == nil {
					t.Error("a task that begins after the end has a context that has not ended")
				}
				ended++
			})
		})
		go func() {
			defer close(returned)
			g.Run(ctx)
		}()
		cancel()
		synctest.Wait()
		select {
		case <-returned:
			t.Error("Run returned while a task ran")
		default:
		}
		close(release)
		<-returned
		if ended != 1 {
			t.Error("Run returned before the last task had ended")
		}
		if g.Go(func(context.Context) { t.Error("a task began after the end of Run") }) {
			t.Error("a task was taken after the end of Run")
		}
	})
}

func TestWaitIdleWaitsForQueuedTasksAndEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := tasks.New()
		if !g.WaitIdle(t.Context()) {
			t.Error("a group without tasks is not idle")
		}
		release := make(chan struct{})
		g.Go(func(context.Context) { <-release })
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if g.WaitIdle(ended) {
			t.Error("a group is idle before its task has begun")
		}
		go g.Run(t.Context())
		synctest.Wait()
		if g.WaitIdle(ended) {
			t.Error("a group is idle while its task runs")
		}
		close(release)
		if !g.WaitIdle(t.Context()) {
			t.Error("a group whose task has ended is not idle")
		}
	})
}
