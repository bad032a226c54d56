package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"nanobot/channels"
)

func resumeFromNothing(ctx context.Context, fx fixture) error {
	resumer, err := optionalInterface[channels.Resumer](fx)
	if err != nil {
		return err
	}
	fx.UserSends("first")
	fx.UserSends("second")
	resumer.Resume("")
	c := fx.startCollecting(ctx)
	defer func() { _ = c.stop() }()
	if err := c.waitForText("second"); err != nil {
		return err
	}
	if got := c.received.texts(); !slices.Equal(got, []string{"first", "second"}) {
		return fmt.Errorf("the user sent first and second, and %q was received", got)
	}
	return nil
}

func resumeContinues(ctx context.Context, fx fixture) error {
	resumer, err := optionalInterface[channels.Resumer](fx, "Restart")
	if err != nil {
		return err
	}
	resumer.Resume("")
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err == nil {
		fx.UserSends("second")
		err = c.waitForText("second")
	}
	if err == nil {
		err = c.stopCleanly()
	}
	if err != nil {
		return err
	}
	before := c.received.messages()
	var said []string
	for i := range 250 { // more than the networks deliver at once
		said = append(said, fmt.Sprintf("message %d", i))
		fx.UserSends(said[i])
	}
	next := fx.Restart()
	next.(channels.Resumer).Resume(before[len(before)-1].Cursor)
	again := fx.withChannel(next).startCollecting(ctx, before...)
	defer func() { _ = again.stop() }()
	fx.UserSends("last")
	if err := again.waitForText("last"); err != nil {
		return err
	}
	if got := again.received.texts(); !slices.Equal(got, append(said, "last")) {
		return fmt.Errorf("the user sent %d messages, and after the restart %q was received", len(said)+1, got)
	}
	return nil
}

// cursorRecorder collects the cursors that a channel stores.
type cursorRecorder struct {
	mu        sync.Mutex
	all       []string
	failCount int // the first failCount calls of record fail
}

func (k *cursorRecorder) record(_ context.Context, cursor string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, cursor)
	if len(k.all) <= k.failCount {
		return errors.New("the disk is full")
	}
	return nil
}

func (k *cursorRecorder) cursors() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// runRecordingCursors starts a channel, lets it receive one message, and then moves its cursor n
// times.
func runRecordingCursors(ctx context.Context, fx fixture, k *cursorRecorder, n int) (*collectingRun, error) {
	keeper, err := optionalInterface[channels.CursorKeeper](fx, "AdvanceCursor", "Restart")
	if err != nil {
		return nil, err
	}
	keeper.KeepCursor(k.record)
	c, err := fx.startAndReceiveFirst(ctx)
	for i := 1; i <= n && err == nil; i++ {
		fx.AdvanceCursor()
		if !eventually(func() bool { return len(k.cursors()) >= i }) {
			err = fmt.Errorf("the cursor has moved %d times, and the cursors %q were stored", i, k.cursors())
		}
	}
	return c, err
}

func keptCursorLosesNothing(ctx context.Context, fx fixture) error {
	k := &cursorRecorder{}
	c, err := runRecordingCursors(ctx, fx, k, 1)
	if c == nil {
		return err
	}
	defer func() { _ = c.stop() }()
	if err == nil {
		err = c.stopCleanly()
	}
	if err != nil {
		return err
	}
	fx.UserSends("second")
	next, all := fx.Restart(), k.cursors()
	next.(channels.Resumer).Resume(all[len(all)-1])
	again := fx.withChannel(next).startCollecting(ctx, c.received.messages()...)
	defer func() { _ = again.stop() }()
	if err := again.waitForText("second"); err != nil {
		return err
	}
	if got := again.received.texts(); !slices.Equal(got, []string{"second"}) {
		return fmt.Errorf("after the restart %q was received, want second", got)
	}
	return nil
}

func failedCursorIsStoredLater(ctx context.Context, fx fixture) error {
	c, err := runRecordingCursors(ctx, fx, &cursorRecorder{failCount: 1}, 2)
	if c == nil {
		return err
	}
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	fx.UserSends("second")
	if err := c.waitForText("second"); err != nil {
		return err
	}
	return c.stopCleanly()
}

func healthIsNil(ctx context.Context, fx fixture) error {
	healthy, err := optionalInterface[channels.HealthReporter](fx)
	if err != nil {
		return err
	}
	if err := healthy.Health(); err != nil {
		return fmt.Errorf("before Run, Health is %w", err)
	}
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if !eventually(func() bool { return healthy.Health() == nil }) {
		return fmt.Errorf("a message was received, and Health is %w", healthy.Health())
	}
	return nil
}

func healthReportsOutage(ctx context.Context, fx fixture) error {
	healthy, err := optionalInterface[channels.HealthReporter](fx, "BreakReceiving")
	if err != nil {
		return err
	}
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	repair := fx.BreakReceiving()
	if !eventually(func() bool { return healthy.Health() != nil }) {
		return errors.New("nothing can be received, and Health is nil")
	}
	repair()
	fx.UserSends("second")
	if err := c.waitForText("second"); err != nil {
		return err
	}
	if !eventually(func() bool { return healthy.Health() == nil }) {
		return fmt.Errorf("the outage is over, and Health is %w", healthy.Health())
	}
	return nil
}

// sampleMenu returns a menu of these commands and of one whose name no network accepts.
func sampleMenu(names ...string) []channels.Command {
	commands := []channels.Command{{Name: "no name!", Help: "cannot be a command"}}
	for _, n := range names {
		commands = append(commands, channels.Command{Name: n, Help: "what " + n + " does"})
	}
	return commands
}

func setMenuIsSilent(_ context.Context, fx fixture) error {
	menu, err := optionalInterface[channels.Menu](fx, "Menu")
	if err != nil {
		return err
	}
	menu.SetMenu(sampleMenu("stop", "status"))
	if shown := fx.Menu(); len(shown) > 0 {
		return fmt.Errorf("Run was not called, and the menu is %q", shown)
	}
	return nil
}

func menuSourceIsReadLate(ctx context.Context, fx fixture) error {
	reader, err := optionalInterface[channels.MenuReader](fx)
	if err != nil {
		return err
	}
	var read atomic.Bool
	reader.SetMenuSource(func(context.Context, channels.Chat, channels.User) (channels.Choices, error) {
		read.Store(true)
		return channels.Choices{}, nil
	})
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if read.Load() {
		return errors.New("nobody has opened a menu, and its source was read")
	}
	return c.stopCleanly()
}

func runShowsMenu(ctx context.Context, fx fixture) error {
	menu, err := optionalInterface[channels.Menu](fx, "Menu")
	if err != nil {
		return err
	}
	commands := sampleMenu("stop", "status")
	menu.SetMenu(commands)
	commands[1].Name = "changed"
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if !eventually(func() bool { return containsAll(fx.Menu(), "stop", "status") }) || containsAll(fx.Menu(), "no name!") {
		return fmt.Errorf("the menu should have stop and status and is %q", fx.Menu())
	}
	return c.stopCleanly()
}

func containsAll(all []string, wanted ...string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(all, w) })
}

func setChatMenuReplaces(ctx context.Context, fx fixture) error {
	menu, err := optionalInterface[channels.ChatMenu](fx, "ChatMenu")
	if err != nil {
		return err
	}
	if general, ok := fx.Channel.(channels.Menu); ok {
		general.SetMenu(sampleMenu("stop"))
	}
	for _, names := range [][]string{{"plan", "draw"}, {"draw", "paint"}, nil} {
		if err := menu.SetChatMenu(ctx, fx.Chat, sampleMenu(names...)); err != nil {
			return fmt.Errorf("set the menu %q: %w", names, err)
		}
		shown := fx.ChatMenu()
		for _, name := range []string{"plan", "draw", "paint"} {
			if slices.Contains(shown, name) != slices.Contains(names, name) {
				return fmt.Errorf("the menu should have stop and %q and is %q", names, shown)
			}
		}
		if len(names) > 0 && !slices.Contains(shown, "stop") {
			return fmt.Errorf("the menu %q has lost the commands of SetMenu: %q", names, shown)
		}
	}
	return nil
}
