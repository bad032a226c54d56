package gateway_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// resumedChannel is a channel whose first Run fails when it is told to.
type resumedChannel struct {
	*gatewaytest.Channel
	fail    chan struct{}
	resumed chan string // the cursors of Resume
	keeps   []func(context.Context, string) error
	menus   int
	runs    int
}

func (f *resumedChannel) Resume(cursor string) {
	f.resumed <- cursor
	f.Channel.Resume(cursor)
}

func (f *resumedChannel) KeepCursor(keep func(context.Context, string) error) {
	f.keeps = append(f.keeps, keep)
}

func (f *resumedChannel) SetMenu([]channels.Command) { f.menus++ }

func (f *resumedChannel) Run(ctx context.Context, receive channels.Receive) error {
	f.runs++
	if f.runs > 1 {
		return f.Channel.Run(ctx, receive)
	}
	<-f.fail
	return errors.New("the first run fails")
}

func TestAChannelThatRunsAgainIsResumedFromTheStoredCursor(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, echo)
	failing := &resumedChannel{fail: make(chan struct{}), resumed: make(chan string, 2)}
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { failing.Channel = c; return failing }
	fx.start()
	wanttest.Equal(t, "the first cursor", <-failing.resumed, "")
	fx.net.UserWrites("1", "u", "before the cursor")
	fx.net.UserWrites("1", "u", "behind it")
	other := openBeside(t, filepath.Join(fx.dir, ".nanobot")) // as another member does that received it
	musttest.Do(t, other.SetCursor(t.Context(), "net", "1"))
	musttest.Do(t, other.Close()) // stores it
	close(failing.fail)
	wanttest.Equal(t, "the second cursor", <-failing.resumed, "1")
	fx.expect("1", "you said behind it")
	fx.stop()
	wanttest.Equal(t, "calls of SetMenu", failing.menus, 2)
	wanttest.Equal(t, "calls of KeepCursor", len(failing.keeps), 2)
}
