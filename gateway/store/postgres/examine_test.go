package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// beatUntil has a member beat until a channel is closed.
func beatUntil(t *testing.T, s *postgres.Store, end <-chan struct{}) {
	for {
		if _, err := s.Beat(ctx, false); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-s.Hints():
		case <-time.After(20 * time.Millisecond):
		case <-end:
			return
		}
	}
}

func TestOnlyMembersThatSeeTheFolderAreItsReaders(t *testing.T) {
	shared, elsewhere := filepath.Join(t.TempDir(), "spool"), filepath.Join(t.TempDir(), "spool")
	end := make(chan struct{})
	var beats sync.WaitGroup
	defer beats.Wait() // before the members are closed
	defer close(end)
	for name, spool := range map[string]string{"one": shared, "two": shared, "three": elsewhere} {
		s := openMember(t, postgres.Options{Name: name, Spool: spool})
		beats.Go(func() { beatUntil(t, s, end) })
	}
	musttest.Do(t, os.WriteFile(filepath.Join(shared, "../doctor-1"), []byte("content"), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(elsewhere, "../doctor-1"), []byte("other"), 0o600))
	var ahead atomic.Int64
	command := openMember(t, postgres.Options{Name: "one", Command: true, Now: func() time.Time {
		return time.Now().Add(time.Duration(ahead.Load()))
	}})
	var group errgroup.Group
	var readers, others []string
	var ended atomic.Bool
	group.Go(func() (err error) {
		defer ended.Store(true)
		readers, others, err = command.AwaitReaders(ctx, "doctor-1", "content")
		return err
	})
	watch := connect(t)
	waitUntil(t, "all have read it", func() (all bool) {
		musttest.Do(t, watch.QueryRow(ctx, "SELECT count(*) = 3 FROM probe WHERE content <> ''").Scan(&all))
		return all || ended.Load()
	})
	ahead.Store(int64(2 * ttl)) // it waits no longer for the third
	musttest.Do(t, group.Wait())
	wanttest.Equal(t, "readers:", fmt.Sprint(readers), "[one two]")
	wanttest.Equal(t, "others:", fmt.Sprint(others), "[three]")
}

func TestAServerTellsItsSettingsBeforeThereIsAState(t *testing.T) {
	found := musttest.Get(postgres.Examine(ctx, fillOptions(t, postgres.Options{URL: postgrestest.URL(t)})))(t)
	wanttest.Equal(t, "fsync:", found.Fsync, "off")
	wanttest.Equal(t, "synchronous_commit:", found.Commit, "on")
	if found.Version == "" || found.Free <= 0 || found.Free > 200 || found.Ahead.Abs() > found.Precision+time.Second {
		t.Errorf("got %+v", found)
	}
}
