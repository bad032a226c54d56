package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nanobot/channels"
)

func resumeFromNothing(ctx context.Context, b bench) error {
	resumer, err := as[channels.Resumer](b)
	if err != nil {
		return err
	}
	b.UserSends("first")
	b.UserSends("second")
	resumer.Resume("")
	c := b.converse(ctx)
	defer func() { _ = c.stop() }()
	if err := c.hear("second"); err != nil {
		return err
	}
	if got := c.heard.texts(); !slices.Equal(got, []string{"first", "second"}) {
		return fmt.Errorf("said were first and second, received %q", got)
	}
	return nil
}

func resumeContinues(ctx context.Context, b bench) error {
	resumer, err := as[channels.Resumer](b)
	if err == nil {
		err = required(b.Restart != nil, "Restart")
	}
	if err != nil {
		return err
	}
	resumer.Resume("")
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err == nil {
		b.UserSends("second")
		err = c.hear("second")
	}
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return err
	}
	before := c.heard.messages()
	b.UserSends("third")
	next := b.Restart()
	next.(channels.Resumer).Resume(before[len(before)-1].Cursor)
	again := b.on(next).converse(ctx, before...)
	defer func() { _ = again.stop() }()
	b.UserSends("fourth")
	if err := again.hear("fourth"); err != nil {
		return err
	}
	if got := again.heard.texts(); !slices.Equal(got, []string{"third", "fourth"}) {
		return fmt.Errorf("after the restart third and fourth were to be received, and %q was", got)
	}
	return nil
}

// kept collects cursors.
type kept struct {
	mu   sync.Mutex
	all  []string
	fail int // so many calls fail
}

func (k *kept) keep(_ context.Context, cursor string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, cursor)
	if len(k.all) <= k.fail {
		return errors.New("the disk is full")
	}
	return nil
}

func (k *kept) cursors() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// keeping runs a channel that has received one message and whose cursor then has moved on n times.
func keeping(ctx context.Context, b bench, k *kept, n int) (*conversation, error) {
	keeper, err := as[channels.CursorKeeper](b)
	if err == nil {
		err = errors.Join(required(b.AdvanceCursor != nil, "AdvanceCursor"), required(b.Restart != nil, "Restart"))
	}
	if err != nil {
		return nil, err
	}
	keeper.KeepCursor(k.keep)
	c, err := b.receiveFirst(ctx)
	for i := 1; i <= n && err == nil; i++ {
		b.AdvanceCursor()
		if !eventually(func() bool { return len(k.cursors()) >= i }) {
			err = fmt.Errorf("the network has moved on %d times, and the cursors %q were kept", i, k.cursors())
		}
	}
	return c, err
}

func keptCursorLosesNothing(ctx context.Context, b bench) error {
	k := &kept{}
	c, err := keeping(ctx, b, k, 1)
	if c == nil {
		return err
	}
	defer func() { _ = c.stop() }()
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return err
	}
	b.UserSends("second")
	next, all := b.Restart(), k.cursors()
	next.(channels.Resumer).Resume(all[len(all)-1])
	again := b.on(next).converse(ctx, c.heard.messages()...)
	defer func() { _ = again.stop() }()
	if err := again.hear("second"); err != nil {
		return err
	}
	if got := again.heard.texts(); !slices.Equal(got, []string{"second"}) {
		return fmt.Errorf("after the restart second was to be received, and %q was", got)
	}
	return nil
}

func keepMayFail(ctx context.Context, b bench) error {
	c, err := keeping(ctx, b, &kept{fail: 1}, 2)
	if c == nil {
		return err
	}
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	b.UserSends("second")
	if err := c.hear("second"); err != nil {
		return err
	}
	return c.end()
}

func healthIsNil(ctx context.Context, b bench) error {
	healthy, err := as[channels.HealthReporter](b)
	if err != nil {
		return err
	}
	if err := healthy.Health(); err != nil {
		return fmt.Errorf("before Run it is %w", err)
	}
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if !eventually(func() bool { return healthy.Health() == nil }) {
		return fmt.Errorf("a message was received, and Health is %w", healthy.Health())
	}
	return nil
}

func healthTellsTrouble(ctx context.Context, b bench) error {
	healthy, err := as[channels.HealthReporter](b)
	if err == nil {
		err = required(b.BreakReceiving != nil, "BreakReceiving")
	}
	if err != nil {
		return err
	}
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	mend := b.BreakReceiving()
	if !eventually(func() bool { return healthy.Health() != nil }) {
		return errors.New("nothing can be received, and Health is nil")
	}
	mend()
	b.UserSends("second")
	if err := c.hear("second"); err != nil {
		return err
	}
	if !eventually(func() bool { return healthy.Health() == nil }) {
		return fmt.Errorf("the trouble is over, and Health is %w", healthy.Health())
	}
	return nil
}

// menuOf is a menu of some commands and one whose name no network takes.
func menuOf(names ...string) []channels.Command {
	commands := []channels.Command{{Name: "no name!", Help: "cannot be a command"}}
	for _, n := range names {
		commands = append(commands, channels.Command{Name: n, Help: "what " + n + " does"})
	}
	return commands
}

func setMenuIsSilent(_ context.Context, b bench) error {
	menu, err := as[channels.Menu](b)
	if err == nil {
		err = required(b.Menu != nil, "Menu")
	}
	if err != nil {
		return err
	}
	menu.SetMenu(menuOf("stop", "status"))
	if shown := b.Menu(); len(shown) > 0 {
		return fmt.Errorf("Run was not called, and the menu is %q", shown)
	}
	return nil
}

func runShowsMenu(ctx context.Context, b bench) error {
	menu, err := as[channels.Menu](b)
	if err == nil {
		err = required(b.Menu != nil, "Menu")
	}
	if err != nil {
		return err
	}
	commands := menuOf("stop", "status")
	menu.SetMenu(commands)
	commands[1].Name = "changed"
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if !eventually(func() bool { return contains(b.Menu(), "stop", "status") }) || contains(b.Menu(), "no name!") {
		return fmt.Errorf("the menu should have stop and status and is %q", b.Menu())
	}
	return c.end()
}

func contains(all []string, wanted ...string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(all, w) })
}

func setChatMenuReplaces(ctx context.Context, b bench) error {
	menu, err := as[channels.ChatMenu](b)
	if err == nil {
		err = required(b.ChatMenu != nil, "ChatMenu")
	}
	if err != nil {
		return err
	}
	if general, ok := b.Channel.(channels.Menu); ok {
		general.SetMenu(menuOf("stop"))
	}
	for _, names := range [][]string{{"plan", "draw"}, {"draw", "paint"}, nil} {
		if err := menu.SetChatMenu(ctx, b.Chat, menuOf(names...)); err != nil {
			return fmt.Errorf("set the menu %q: %w", names, err)
		}
		shown := b.ChatMenu()
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
