package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// bigFileScript is an agent that sends a sparse file of a size.
func bigFileScript(size string) string {
	return `truncate -s ` + size + ` big.bin; echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/big.bin\"]}"; `
}

// spoolFolders returns the copies in the spool.
func (fx *fixture) spoolFolders() []string {
	found, _ := filepath.Glob(filepath.Join(fx.dir, ".nanobot", "spool", "*", "*"))
	return found
}

func TestAFileOverTheNetworksLimitIsNeverCopied(t *testing.T) {
	fx := newFixture(t, bigFileScript("100G"))
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel {
		c.MaxFile = 50 << 20
		return c
	}
	fx.wrapStore = func(s store.Store) store.Store {
		return slowSpool{s, func(string) error {
			if got := fx.spoolFolders(); len(got) > 0 {
				t.Errorf("copied %q", got)
			}
			return nil
		}}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.expect("1", "look\n⚠ \"big.bin\" (107.4 GB) was not sent: the network takes files up to 52428800 bytes.")
	fx.awaitIdle("1")
	if got := fx.spoolFolders(); len(got) > 0 {
		t.Errorf("copied %q", got)
	}
}

func TestAPersonIsToldOfAFileThatTheDiskHasNoRoomFor(t *testing.T) {
	fx := newFixture(t, `head -c 40000000 /dev/urandom > big.bin; echo small > small.txt
		echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/big.bin\",\"$PWD/small.txt\"]}"`)
	state := filepath.Join(fx.dir, ".nanobot")
	musttest.Do(t, os.MkdirAll(state, 0o700))
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=32m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		fx.stop()
		if err := unix.Unmount(state, 0); err != nil {
			t.Error(err)
		}
	})
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	told := fx.awaitText("1", "was not sent")
	wanttest.Equal(t, "told", told.Text, "look\n⚠ \"big.bin\" (40.0 MB) was not sent: there is not enough room for a copy of it on the bot's disk.")
	fx.awaitIdle("1")
	if _, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return c[len(c)-1].Files["small.txt"] == "small\n" }); !ok {
		t.Error("the other file did not arrive")
	}
}

// endlessSpool is a store whose copies of large files do not end before their context.
type endlessSpool struct {
	store.Store
	begun func()
}

func (s endlessSpool) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	if checked, err := file.Stat(); err != nil || checked.Size() < 1<<20 {
		return s.Store.SaveCopy(ctx, file, limit)
	}
	s.begun()
	<-ctx.Done()
	return "", ctx.Err()
}

// stillCopied is what is said of a file whose copy the end of the turn has ended.
const stillCopied = "look\n⚠ \"big.bin\" was not sent: it was still being copied when the turn ended."

func TestACopyEndsAtStop(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, bigFileScript("1G")+"sleep 600")
	fx.wrapStore = func(s store.Store) store.Store { return endlessSpool{s, func() { fx.touchFile("copying") }} }
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.awaitFile("copying")
	fx.net.UserWrites("1", "u", "/stop")
	fx.expect("1", stillCopied, "Stopped.")
}

func TestACopyEndsWithTheTimeoutOfTheTurn(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, bigFileScript("1G")+"sleep 600")
	fx.terminal.Timeout = 2
	fx.wrapStore = func(s store.Store) store.Store { return endlessSpool{s, func() {}} }
	fx.start()
	for turn := 1; turn <= 100; turn++ {
		fx.net.UserWrites("1", "u", "hi")
		calls, ok := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
			return strings.Count(strings.Join(texts(calls), "|"), "Timed out after 2 s.") == turn
		})
		if !ok {
			t.Fatalf("shown %q", texts(calls))
		}
		if slices.Contains(texts(calls), stillCopied) {
			return // on a busy machine the time may be up before the agent has said anything
		}
	}
	t.Error("no copy was ended")
}

// What was printed before a stop is still delivered, its pictures too.
func TestASmallFileIsSentThoughTheTurnWasStopped(t *testing.T) {
	fx := newFixture(t, `echo small > small.png; echo "$PWD/small.png"; touch up; sleep 600`)
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "/stop")
	if _, ok := fx.net.Await("1", testTimeout, func(calls []gatewaytest.Call) bool {
		for _, c := range calls {
			if c.Files["small.png"] == "small\n" {
				return true
			}
		}
		return false
	}); !ok {
		t.Errorf("shown %q", texts(fx.net.Sent("1")))
	}
}

// After its end a turn is not copied for any more: an agent could have printed thousands of files.
func TestOnlySmallFilesAreCopiedAfterTheEndOfATurn(t *testing.T) {
	var frames strings.Builder
	for i := range 20 {
		fmt.Fprintf(&frames, `truncate -s 20M %d.bin; echo "{\"type\":\"message\",\"text\":\"number %d\",\"media\":[\"$PWD/%d.bin\"]}"; `, i, i, i)
	}
	fx := newFixture(t, "trap 'touch told; exit' TERM; "+frames.String()+"touch up; while :; do sleep 0.01; done")
	stopped := make(chan struct{})
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return refusingFilesChannel{c} }
	copies := 0
	fx.wrapStore = func(s store.Store) store.Store {
		return slowSpool{s, func(string) error {
			<-stopped
			copies++
			return nil
		}}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "/stop")
	fx.awaitFile("told")
	close(stopped)
	fx.awaitIdle("1")
	if got := len(fx.spoolFolders()); got < 1 || got > 4 {
		t.Errorf("%d copies of %d", got, copies)
	}
}

// refusingFilesChannel is a channel whose network accepts no files.
type refusingFilesChannel struct{ *gatewaytest.Channel }

func (c refusingFilesChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if len(o.Media) > 0 {
		return channels.Receipt{}, errors.New("not now")
	}
	return c.Channel.Send(ctx, o)
}
