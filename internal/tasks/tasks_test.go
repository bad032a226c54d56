package tasks_test

import (
	"context"
	"testing"

	"nanobot/internal/tasks"
)

func TestWaitReturnsWhenTheLastTaskHasEnded(t *testing.T) {
	var g tasks.Group
	g.Wait() // an empty group has nothing to wait for
	ended := 0
	release := make(chan struct{})
	g.Go(func() {
		<-release
		g.Go(func() { ended++ }) // a task may begin others
	})
	close(release)
	g.Wait()
	if ended != 1 {
		t.Error("Wait returned before the last task had ended")
	}
}

func TestIdleEndsWithItsContext(t *testing.T) {
	var g tasks.Group
	release := make(chan struct{})
	g.Go(func() { <-release })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if g.Idle(ctx) {
		t.Error("a group is idle while its task runs")
	}
	close(release)
	if !g.Idle(t.Context()) {
		t.Error("a group without tasks is not idle")
	}
}
