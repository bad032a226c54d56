package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/cli"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func historyLines(h *cli.History) []string {
	var out []string
	for i := range h.Len() {
		out = append(out, h.At(i))
	}
	return out
}

func TestHistoryIsNewestFirstAndOutlivesTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	h := cli.OpenHistory(path)
	for _, line := range []string{"one", "two", "größer 日本"} {
		h.Add(line)
	}
	want := []string{"größer 日本", "two", "one"}
	wanttest.EqualSlices(t, "got", historyLines(h), want)
	wanttest.EqualSlices(t, "reopened: got", historyLines(cli.OpenHistory(path)), want)
}

func TestHistoryLeavesOutBlankAndRepeatedLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := cli.OpenHistory(path)
	for _, line := range []string{"one", "one", "", "  ", "two", "two\nlines", "two", "one"} {
		h.Add(line)
	}
	want := []string{"one", "two", "one"}
	wanttest.EqualSlices(t, "got", historyLines(h), want)
	h = cli.OpenHistory(path)
	h.Add("one")
	wanttest.EqualSlices(t, "reopened: got", historyLines(cli.OpenHistory(path)), want)
}

func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := cli.OpenHistory(path)
	for i := range 1200 {
		h.Add(fmt.Sprintf("line %d", i))
	}
	again := cli.OpenHistory(path)
	for name, h := range map[string]*cli.History{"in memory": h, "reopened": again} {
		if h.Len() != 500 || h.At(0) != "line 1199" || h.At(499) != "line 700" {
			t.Errorf("%s: %d lines from %q to %q", name, h.Len(), h.At(0), h.At(h.Len()-1))
		}
	}
	b := musttest.Get(os.ReadFile(path))(t)
	if n := strings.Count(string(b), "\n"); n > 500 {
		t.Errorf("the file still has %d lines after it was opened", n)
	}
}

func TestHistoryIsForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "history")
	for range 2 { // the second time the file is rewritten
		h := cli.OpenHistory(path)
		for i := range 600 {
			h.Add(fmt.Sprintf("secret %d", i))
		}
		for p, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
			info := musttest.Get(os.Stat(p))(t)
			wanttest.Equal(t, p+": has mode", info.Mode().Perm(), want)
		}
	}
}

func TestAVeryLongLineDoesNotEndHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := cli.OpenHistory(path)
	long := strings.Repeat("x", 200_000)
	h.Add("before")
	h.Add(long)
	h.Add("after")
	wanttest.EqualSlices(t, "got", historyLines(cli.OpenHistory(path)), []string{"after", long, "before"})
}

func TestAHistoryThatCannotBeReadOrWrittenStillWorksInMemory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	musttest.Do(t, os.WriteFile(file, nil, 0o600))
	for name, path := range map[string]string{
		"a folder":       dir,
		"below a file":   filepath.Join(file, "history"),
		"a missing file": filepath.Join(dir, "no", "such", "history"),
	} {
		h := cli.OpenHistory(path)
		if h.Len() != 0 {
			t.Errorf("%s: remembers %q", name, historyLines(h))
		}
		h.Add("one")
		wanttest.EqualSlices(t, name+":", historyLines(h), []string{"one"})
	}
}
