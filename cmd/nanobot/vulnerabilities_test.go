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
	must(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho \"go $*\"; exit 3\n"), 0o755))
	run := func() (string, int) {
		cmd := exec.Command("sh", "../../.ci/vulnerabilities")
		cmd.Env = append(os.Environ(), "GOVULNDB="+db.URL, "PATH="+bin+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1")
		out, err := cmd.CombinedOutput()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return string(out), failed.ExitCode()
		}
		must(t, err)
		return string(out), 0
	}
	if out, status := run(); status != 3 || !strings.HasPrefix(out, "go run golang.org/x/vuln/cmd/govulncheck@") || !strings.HasSuffix(out, " -db "+db.URL+" ./...\n") {
		t.Errorf("status %d: %s", status, out)
	}
	db.Close()
	if out, status := run(); status != 0 || !strings.Contains(out, "cannot be reached") {
		t.Errorf("without the database: status %d: %s", status, out)
	}
}
