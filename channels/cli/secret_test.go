package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"nanobot/channels/cli"
)

func TestThePersonIsToldThatAPasswordIsNotNeededAndOnlyItsLineIsDiscarded(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	k.SecretEnded = "Press Enter."
	read := func(ctx context.Context, in cli.Input, shown string) <-chan readResult {
		done := make(chan readResult, 1)
		go func() {
			text, err := in.Read(ctx)
			done <- readResult{text, err}
		}()
		s.await(shown)
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	password := read(ctx, cli.SecretInput{Keyboard: k}, prompt)
	cancel()
	s.awaitRead(password)
	ctx, cancel = context.WithCancel(t.Context())
	message := read(ctx, k, k.SecretEnded)
	s.press("hunter2" + enter)
	s.await(prompt)
	s.press("hello")
	s.await("hello")
	cancel() // such as at the end of a turn
	s.awaitRead(message)
	message = read(t.Context(), k, "\x1b[?2004h")
	s.press(enter)
	if got := s.awaitRead(message); got.text != "hello" || got.err != nil {
		t.Errorf("got %q, %v", got.text, got.err)
	}
}

func TestALineIsHiddenFromTheMomentThatAProgramReadsAPassword(t *testing.T) {
	s := newTestTerminal(t)
	path := filepath.Join(t.TempDir(), "history")
	k := s.keyboard(cli.OpenHistory(path))
	var hides atomic.Bool
	k.Hides = hides.Load
	done := s.startRead(t.Context(), k)
	s.press("be")
	s.await("be")
	hides.Store(true)
	s.press("hunter2" + enter)
	if got := s.awaitRead(done); got.text != "behunter2" || got.err != nil {
		t.Errorf("got %q, %v", got.text, got.err)
	}
	hides.Store(false)
	if shown := s.await("\x1b[?2004l"); strings.Contains(shown, "hunter2") {
		t.Errorf("shown is %q", shown)
	}
	s.read(k, "shown"+enter)
	if got := cli.OpenHistory(path); got.Len() != 1 || got.At(0) != "shown" {
		t.Errorf("the history has %d lines", got.Len())
	}
}
