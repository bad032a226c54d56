package dev_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/dev"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
	"nanobot/terminal/cassette"
)

// The name of the folder is also a pattern.
func TestASavedTurnIsPrivateAndOneThatRunsAgainIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &dev.Page{Folder: filepath.Join(dir, "record [a]"), Tests: filepath.Join(dir, "tests")}
	recorded := filepath.Join(p.Folder, "1-01234567"+cassette.Suffix)
	musttest.Do(t, os.MkdirAll(cassette.FilesDir(recorded), 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(cassette.FilesDir(recorded), "hash"), []byte("x"), 0o600))
	musttest.Do(t, os.WriteFile(recorded, []byte(`{"type":"cassette"}`+"\n"+`{"type":"exit"}`+"\n"), 0o600))
	request := httptest.NewRequest(http.MethodPost, "/api/dev", strings.NewReader(`{"turn": "1-01234567.0", "name": "a"}`))
	response := httptest.NewRecorder()
	p.Handlers()["POST /api/dev"].ServeHTTP(response, request)
	wanttest.Equal(t, "status", response.Code, http.StatusOK)
	saved := filepath.Join(p.Tests, "a"+cassette.Suffix)
	for _, path := range []string{saved, cassette.FilesDir(saved)} {
		if mode := musttest.Get(os.Stat(path))(t).Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s is open to others: %v", path, mode)
		}
	}
	wanttest.Equal(t, "saved files", len(musttest.Get(os.ReadDir(cassette.FilesDir(saved)))(t)), 1)
	p.RunAgain(1)
	wanttest.Equal(t, "entries left", len(musttest.Get(os.ReadDir(p.Folder))(t)), 0)
}

func TestATurnThatIsRetriedCannotBeSavedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &dev.Page{Folder: dir, Tests: filepath.Join(dir, "tests"), Words: words.New(words.Settings{})}
	content := `{"type":"cassette"}` + strings.Repeat("\n"+`{"type":"envelope"}`+"\n"+`{"type":"exit"}`, 2)
	for _, test := range []struct {
		content string
		want    int
	}{{strings.TrimSuffix(content, `{"type":"exit"}`), http.StatusConflict}, {content, http.StatusOK}} {
		musttest.Do(t, os.WriteFile(filepath.Join(dir, "1-01234567"+cassette.Suffix), []byte(test.content), 0o600))
		request := httptest.NewRequest(http.MethodPost, "/api/dev", strings.NewReader(`{"turn": "1-01234567.0", "name": "a"}`))
		response := httptest.NewRecorder()
		p.Handlers()["POST /api/dev"].ServeHTTP(response, request)
		wanttest.Equal(t, "status", response.Code, test.want)
	}
}
