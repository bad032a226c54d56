package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// The stand-in for go fails, as govulncheck does when it finds something.
func TestVulnerabilitiesAreLookedForWhereTheirDatabaseCanBeReached(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	db := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/index/db.json" {
			http.NotFound(w, r)
		}
	}))
	bin := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n[ \"$3\" = -version ] && exit \"${FETCH:-0}\"\necho \"go $*\"; exit 3\n"), 0o755))
	shell := musttest.Get(exec.LookPath("sh"))(t)
	dirname := musttest.Get(exec.LookPath("dirname"))(t)
	musttest.Do(t, os.Symlink(dirname, filepath.Join(bin, "dirname")))
	run := func(env ...string) (string, int) {
		cmd := exec.Command(shell, "../../.ci/vulnerabilities")
		cmd.Env = append(append(os.Environ(), "GOVULNDB="+db.URL, "PATH="+bin+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1"), env...)
		out, err := cmd.CombinedOutput()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return string(out), failed.ExitCode()
		}
		musttest.Do(t, err)
		return string(out), 0
	}
	if out, status := run(); status != 3 || !strings.HasPrefix(out, "go run golang.org/x/vuln/cmd/govulncheck@") || !strings.HasSuffix(out, " -db "+db.URL+" ./...\n") {
		t.Errorf("status %d: %s", status, out)
	}
	if out, status := run("PATH=" + bin); status != 0 || !strings.Contains(out, "there is no curl") {
		t.Errorf("without curl: status %d: %s", status, out)
	}
	if out, status := run("FETCH=1"); status != 0 || !strings.Contains(out, "cannot be fetched") {
		t.Errorf("without the tool: status %d: %s", status, out)
	}
	db.Close()
	if out, status := run(); status != 0 || !strings.Contains(out, "cannot be reached") {
		t.Errorf("without the database: status %d: %s", status, out)
	}
}
