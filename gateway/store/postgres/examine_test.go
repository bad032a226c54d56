package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

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
	command := openMember(t, postgres.Options{Name: "one", Command: true, TTL: time.Second})
	readers, others, err := command.AwaitReaders(ctx, "doctor-1", "content")
	musttest.Do(t, err)
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
