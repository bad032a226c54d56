package gateway_test

import (
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
)

// A limit of the size of files is refused by the kernel as a quota is: by another number than that
// of a full disk.
func TestAStoreThatRefusesWritesIsAlive(t *testing.T) {
	onlySQLite(t, "the limit on the size of files is that of the database of SQLite")
	fx := newFixture(t, "true").start()
	p := fx.gw.Liveness()
	defer p.Wait()
	if got := checkLiveness(t, p, testTimeout); got != "" {
		t.Fatal(got)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before unix.Rlimit
	musttest.Do(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	musttest.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: before.Max}))
	got := checkLiveness(t, p, testTimeout)
	refused := fx.store.SetCursor(t.Context(), "x", "y")
	musttest.Do(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
	if got != "" || refused == nil {
		t.Errorf("not alive: %q; a write: %v", got, refused)
	}
}
