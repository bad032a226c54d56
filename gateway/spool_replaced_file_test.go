package gateway_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// slowSpool is a store that calls a hook before each copy.
type slowSpool struct {
	store.Store
	before func(path string) error
}

func (s slowSpool) SaveCopy(ctx context.Context, file *os.File, limit int64) (string, error) {
	if err := s.before(file.Name()); err != nil {
		return "", err
	}
	return s.Store.SaveCopy(ctx, file, limit)
}

// A second name of one of our own files could take the place of a file that was found good.
func TestAFileThatReplacedTheCheckedOneIsNotSent(t *testing.T) {
	fx := newFixture(t, `echo picture > a.png; echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/a.png\"]}"`)
	private := filepath.Join(t.TempDir(), "private")
	musttest.Do(t, os.WriteFile(private, []byte("secret"), 0o600))
	fx.wrapStore = func(s store.Store) store.Store {
		return slowSpool{s, func(path string) error { return errors.Join(os.Remove(path), os.Link(private, path)) }}
	}
	fx.start()
	fx.net.UserWrites("1", "u", "hi")
	fx.expect("1", "look\n⚠ \"a.png\" was not sent: the agent changed it at once.")
}
