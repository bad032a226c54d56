package httpd_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
)

// earlierCode is the code of the link that an earlier version has left.
const earlierCode = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var earlierKey = bytes.Repeat([]byte{7}, 32)

// writeEarlierFiles writes the files of an earlier version: a key, a link for ann, a session of
// bob, and an ended session of eve.
func writeEarlierFiles(t *testing.T, dir string, now time.Time) {
	t.Helper()
	expires := now.Add(240 * time.Hour).UTC()
	write := func(content any, path ...string) {
		t.Helper()
		text, ok := content.([]byte)
		if !ok {
			text, _ = json.Marshal(content)
		}
		name := filepath.Join(append([]string{dir}, path...)...)
		musttest.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		musttest.Do(t, os.WriteFile(name, text, 0o600))
	}
	write(earlierKey, httpd.KeyFile)
	write([]byte{}, httpd.SignedOutLock)
	write(map[string]any{"EVE": expires}, httpd.SignedOutFile)
	write(map[string]any{"user": "ann", "role": "chat", "expires": now.Add(httpd.LinkLifetime)}, httpd.LinkFolder, hashOf(earlierCode))
	write([]byte("<p>"), httpd.LinkFolder, "open.html")
	write(map[string]any{"session": "BOB", "user": "bob", "role": "operator", "created": now, "expires": expires}, httpd.SessionFolder, hashOf("BOB"))
	write(map[string]any{"session": "X", "user": "mallory", "role": "operator", "created": now, "expires": expires}, httpd.SessionFolder, all64)
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// earlierCookie returns a cookie of an earlier version.
func earlierCookie(t *testing.T, words string) header {
	t.Helper()
	return header{"Cookie": signedCookie(t, hex.EncodeToString(earlierKey), words)}
}

// newEarlierState returns a fixture with the files of an earlier version, before the import.
func newEarlierState(t *testing.T) *fixture {
	t.Helper()
	r := &fixture{t: t, dir: t.TempDir(), now: time.Now()}
	r.store = openStore(t, r.dir, sqlite.Options{})
	writeEarlierFiles(t, r.dir, r.now)
	return r
}

func (r *fixture) importFiles() {
	r.t.Helper()
	musttest.Do(r.t, httpd.Import(r.t.Context(), r.store, r.dir))
}

func TestLinksAndSessionsOfAnEarlierVersionStayValid(t *testing.T) {
	r := newEarlierState(t)
	r.importFiles()
	r.startServer()
	until := r.now.Add(240 * time.Hour).Unix()
	if resp, body := newBrowser(t).request("GET", r.url, earlierCookie(t, fmt.Sprintf("operator.bob.%d.BOB", until))); resp.status != 200 || body != "operator bob" {
		t.Errorf("who is signed in is answered %d %q", resp.status, body)
	}
	if resp, _ := newBrowser(t).request("GET", r.url, earlierCookie(t, fmt.Sprintf("chat.eve.%d.EVE", until))); resp.status != 401 {
		t.Errorf("who has signed out is answered %d", resp.status)
	}
	if lines, _ := r.listed(); strings.Join(lines, ", ") != "link ann chat, browser bob operator" {
		t.Errorf("listed are %v", lines)
	}
	if resp, body := newBrowser(t).signIn(r.url + httpd.EnterPath + earlierCode); resp.status != 200 || body != "chat ann" {
		t.Errorf("the link is answered %d %q", resp.status, body)
	}
	var left []string
	for _, pattern := range []string{"http.*", "links/*", "sessions/*"} {
		found, _ := filepath.Glob(filepath.Join(r.dir, pattern))
		left = append(left, found...)
	}
	if len(left) != 1 || filepath.Base(left[0]) != "open.html" {
		t.Errorf("left are %v", left)
	}
}

// Whatever part of the files is still there after an import that was cut off, it has no effect.
func TestFilesLeftByAnInterruptedImportAreNotImportedAgain(t *testing.T) {
	for _, gone := range [][]string{nil, {httpd.KeyFile}, {httpd.KeyFile, httpd.SignedOutFile}, {httpd.SignedOutFile, httpd.SessionFolder}} {
		t.Run(strings.Join(gone, " "), func(t *testing.T) {
			r := newEarlierState(t)
			r.importFiles()
			r.startServer()
			if resp, _ := newBrowser(t).signIn(r.url + httpd.EnterPath + earlierCode); resp.status != 200 {
				t.Fatalf("the link is answered %d", resp.status)
			}
			r.revoke("bob")
			writeEarlierFiles(t, r.dir, r.now)
			for _, name := range gone {
				musttest.Do(t, os.RemoveAll(filepath.Join(r.dir, name)))
			}
			r.importFiles()
			r.startServer()
			if resp, _ := newBrowser(t).signIn(r.url + httpd.EnterPath + earlierCode); resp.status != 404 {
				t.Errorf("the link that was used is answered %d", resp.status)
			}
			until := r.now.Add(240 * time.Hour).Unix()
			for _, words := range []string{fmt.Sprintf("operator.bob.%d.BOB", until), fmt.Sprintf("chat.eve.%d.EVE", until)} {
				if resp, _ := newBrowser(t).request("GET", r.url, earlierCookie(t, words)); resp.status != 401 {
					t.Errorf("%s is answered %d", words, resp.status)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(r.dir, "http.*")); len(left) != 0 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

func TestDamagedFilesOfAnEarlierVersionAreReportedAndNotRemoved(t *testing.T) {
	for name, want := range map[string]string{httpd.KeyFile: "is damaged; remove it", httpd.SignedOutFile: "is damaged; remove it together with http.key"} {
		t.Run(name, func(t *testing.T) {
			r := newEarlierState(t)
			path := filepath.Join(r.dir, name)
			musttest.Do(t, os.WriteFile(path, []byte(`{"X":"2026-`), 0o600))
			if err := httpd.Import(t.Context(), r.store, r.dir); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
			if values := r.records("http/"); len(values) != 0 {
				t.Errorf("the records are %v", values)
			}
		})
	}
}

func TestFilesStayUntilTheyAreImported(t *testing.T) {
	r := newEarlierState(t)
	if err := httpd.Import(t.Context(), closedStore(t), r.dir); err == nil {
		t.Error("a closed store takes them")
	}
	r.importFiles()
	r.startServer()
	if resp, _ := newBrowser(t).signIn(r.url + httpd.EnterPath + earlierCode); resp.status != 200 {
		t.Errorf("the link is answered %d", resp.status)
	}
}

func closedStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s := openStore(t, t.TempDir(), sqlite.Options{})
	musttest.Do(t, s.Close())
	return s
}
