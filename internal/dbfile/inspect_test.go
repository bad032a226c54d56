package dbfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
)

func TestALogWithoutItsDatabaseIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	musttest.Do(t, os.WriteFile(path+LogSuffix, []byte("log"), 0o600))
	if err := Inspect(path); !errors.Is(err, ErrDamaged) {
		t.Errorf("Inspect returns %v", err)
	}
}

func TestADatabaseThatIsCreatedDuringInspectIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	lstat := func(name string) (os.FileInfo, error) {
		if name == path+LogSuffix { // the database was missing a moment ago
			musttest.Do(t, os.WriteFile(path, []byte("database"), 0o600))
			musttest.Do(t, os.WriteFile(path+LogSuffix, []byte("log"), 0o600))
		}
		return os.Lstat(name)
	}
	musttest.Do(t, inspect(path, lstat))
}
