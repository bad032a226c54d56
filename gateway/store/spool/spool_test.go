package spool_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"nanobot/gateway/store/spool"
	"nanobot/internal/musttest"
)

// openSpool returns a spool in a new folder of dir.
func openSpool(t *testing.T, dir string) *spool.Spool {
	t.Helper()
	s := spool.New(filepath.Join(dir, spool.Name), time.Now)
	musttest.Do(t, os.Mkdir(s.Dir, 0o700))
	return s
}

func TestACopyOfAnEarlierVersionIsFoundAfterTheStateWasMoved(t *testing.T) {
	s := openSpool(t, t.TempDir())
	path, err := s.Fetch(t.Context(), "/srv/elsewhere/spool/0123-ABCD/a b.png")
	if want := filepath.Join(s.Dir, "0123-ABCD", "a b.png"); err != nil || path != want {
		t.Errorf("fetched as %s, %v; want %s", path, err, want)
	}
}
