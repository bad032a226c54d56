package gateway_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/fdtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// countOpens creates a file and returns a function that returns how often it was
// opened since.
func countOpens(t *testing.T, path string) func() int {
	t.Helper()
	musttest.Do(t, os.WriteFile(path, []byte("content"), 0o600))
	fd := musttest.Get(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
	t.Cleanup(func() { _ = unix.Close(fd) })
	// The kernel merges an event with an equal one before it, so the events of the folder are put
	// between those of the file.
	musttest.Get(unix.InotifyAddWatch(fd, filepath.Dir(path), unix.IN_OPEN))(t)
	file := musttest.Get(unix.InotifyAddWatch(fd, path, unix.IN_OPEN))(t)
	return func() (opens int) {
		events := make([]byte, 1<<20)
		n, err := unix.Read(fd, events)
		if err != nil && !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		for events = events[:max(n, 0)]; len(events) > 0; {
			wd, mask := binary.NativeEndian.Uint32(events), binary.NativeEndian.Uint32(events[4:])
			if int(wd) == file && mask&unix.IN_OPEN != 0 {
				opens++
			}
			events = events[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(events[12:]):]
		}
		return opens
	}
}

func TestOpensAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	opens := countOpens(t, path)
	for range 3 {
		f := musttest.Get(os.Open(path))(t)
		defer f.Close()
	}
	wanttest.Equal(t, "opens were counted:", opens(), 3)
}

// noFilesChannel is a channel whose network refuses messages with files.
type noFilesChannel struct{ *gatewaytest.Channel }

func (p noFilesChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	if len(m.Media) > 0 {
		return nil, errors.New("no files")
	}
	return p.Channel.Plan(m)
}

func TestAFileIsOpenedOnceAndClosedHoweverItsFrameEnds(t *testing.T) {
	const script = `echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/a.bin\"]}"`
	unavailable := fmt.Errorf("%w: %w", store.ErrUnavailable, unix.ENOSPC)
	for name, c := range map[string]struct {
		script string
		// prepare returns what happens before each copy.
		prepare func(fx *fixture) func(path string) error
		channel func(*gatewaytest.Channel) channels.Channel
		size    int64  // of the file, if it is to be a large one
		told    string // a part of a text
	}{
		"sent": {told: "look"},
		"too large": {told: "was not sent: the network takes", channel: func(c *gatewaytest.Channel) channels.Channel {
			c.MaxFile = 2
			return c
		}},
		"refused": {told: "Sorry", channel: func(c *gatewaytest.Channel) channels.Channel { return noFilesChannel{c} }},
		"full disk": {told: "look", prepare: func(*fixture) func(string) error {
			times := 3
			return func(string) error {
				if times--; times >= 0 {
					return unavailable
				}
				return nil
			}
		}},
		"no room": {told: "was not sent: there is not enough room", prepare: func(*fixture) func(string) error {
			return func(string) error { return store.ErrNoRoom }
		}},
		"removed": {told: "was not sent: the agent removed it at once", prepare: func(*fixture) func(string) error { return os.Remove }},
		"stopped": {
			told: "was not sent: it was still being copied", script: "; sleep 600", size: 1 << 30,
			prepare: func(fx *fixture) func(string) error {
				return func(string) error {
					fx.net.UserWrites("1", "u", "/stop")
					return nil
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t, script+c.script)
			opens := countOpens(t, filepath.Join(fx.dir, "a.bin"))
			before := func(string) error { return nil }
			if c.prepare != nil {
				before = c.prepare(fx)
			}
			if c.size > 0 {
				musttest.Do(t, os.Truncate(filepath.Join(fx.dir, "a.bin"), c.size))
			}
			fx.wrapChannel = c.channel
			fx.wrapStore = func(s store.Store) store.Store {
				s = endlessSpool{s, func() {}}
				return slowSpool{s, func(path string) error {
					wanttest.Equal(t, "files are open before the copy:", fdtest.CountOpen(t, fx.dir, ".nanobot"), 1)
					return before(path)
				}}
			}
			fx.start()
			fx.net.UserWrites("1", "u", "hi")
			fx.awaitText("1", c.told)
			fx.awaitIdle("1")
			wanttest.Equal(t, "files are open after the turn:", fdtest.CountOpen(t, fx.dir, ".nanobot"), 0)
			wanttest.Equal(t, "the file was opened … times:", opens(), 1)
		})
	}
}

func TestAFileIsClosedWhenTheGatewayEndsBeforeItIsCopied(t *testing.T) {
	fx := newFixture(t, `echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/a.bin\"]}"`)
	fx.settings.DrainTimeout = 0
	opens := countOpens(t, filepath.Join(fx.dir, "a.bin"))
	fx.wrapStore = func(s store.Store) store.Store {
		return slowSpool{s, func(string) error {
			fx.touchFile("copying")
			return fmt.Errorf("%w: %w", store.ErrUnavailable, unix.ENOSPC)
		}}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.awaitFile("copying")
	fx.stop()
	if n, once := fdtest.CountOpen(t, fx.dir, ".nanobot"), opens(); n != 0 || once != 1 {
		t.Errorf("%d files are open, and the file was opened %d times", n, once)
	}
}

// ownFile is a protocol that sends one file of its own.
type ownFile string

func (p ownFile) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	path := string(p)
	return terminal.Outcome{Status: terminal.Done}, t.Emit(terminal.Frame{Kind: terminal.Message, Media: []string{path}, ProtocolDir: filepath.Dir(path)})
}

func TestAFileOfTheProtocolIsOpenedOnceWhenItIsCopiedIntoTheChatsFolder(t *testing.T) {
	for name, fail := range map[string]error{"sent": nil, "not sent": errors.New("no network")} {
		t.Run(name, func(t *testing.T) {
			own := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
			path := filepath.Join(own, "a.bin")
			opens := countOpens(t, path)
			cfg := config.Default().Terminal
			cfg.Command = "true"
			r := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: t.TempDir(), Protocol: ownFile(path), Log: zap.NewNop()}))(t)
			g := &gateway.Direct{Runner: r, Log: zap.NewNop()}
			w := &textChannel{fail: fail}
			if _, err := g.Turn(t.Context(), w, hello); !errors.Is(err, fail) {
				t.Errorf("turn: %v", err)
			}
			if n, once := fdtest.CountOpen(t, own, ".nanobot"), opens(); n != 0 || once != 1 {
				t.Errorf("%d files are open, and the file was opened %d times", n, once)
			}
			if fail != nil {
				return
			}
			copied := w.sent[0].Media[0].Path
			if got, err := os.ReadFile(copied); string(got) != "content" || err != nil || copied == path {
				t.Errorf("%s has %q, %v", copied, got, err)
			}
		})
	}
}
