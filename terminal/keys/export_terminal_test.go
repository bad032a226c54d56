package keys

import (
	"context"
	"strings"
	"time"

	"nanobot/terminal"
	"nanobot/terminal/process"
)

// Terminal is a session for benchmarks.
type Terminal struct{ s *session }

// OpenTerminal starts a program on a terminal.
func OpenTerminal(t terminal.Turn, args ...string) (Terminal, error) {
	s, err := openSession(openOptions{
		launch: t.LaunchPersistent, args: args, env: t.ExecEnv().Env, size: process.Size{Rows: 40, Columns: 160}, idle: time.Hour, log: newChatLog(), onExit: func(*session) {},
	})
	return Terminal{s}, err
}

// Press sends a key and returns when the screen has changed.
func (t Terminal) Press(ctx context.Context, key string) {
	change := t.s.changed()
	t.s.pressKeys(ctx, key)
	<-change
}

// AwaitScreen returns when the screen shows a text.
func (t Terminal) AwaitScreen(text string) {
	for {
		change := t.s.changed()
		if _, visible := t.s.text(); strings.Contains(visible, text) {
			return
		}
		<-change
	}
}

// Close ends the program.
func (t Terminal) Close() { t.s.Close() }
