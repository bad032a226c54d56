package nofollow_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/nofollow"
	"nanobot/internal/wanttest"
)

func TestAllLinksOfAPathAreResolvedEvenIfTheEndDoesNotExist(t *testing.T) {
	dir := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	musttest.Do(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	for link, to := range map[string]string{
		"abs": dir + "/a", "a/up": "..", "a/b/far": "../../abs/b", "dangling": "a/none", "loop": "loop",
	} {
		musttest.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for path, want := range map[string]struct {
		end     string
		through string // the last folders that were searched
	}{
		"a/b":            {"a/b", "/a"},
		"a//./b/":        {"a/b", "/a"},
		"abs/b":          {"a/b", "/a"},
		"a/up/file":      {"file", "/a /a "},
		"a/b/far":        {"a/b", "/a"},
		"abs/none/x":     {"a/none/x", "/a /a/none"},
		"dangling/x":     {"a/none/x", "/a /a/none"},
		"a/b/../../file": {"file", "/a /a/b /a "},
	} {
		end, through, err := nofollow.Resolve(filepath.Join(dir, "") + "/" + path)
		for i := range through {
			through[i] = strings.TrimPrefix(through[i], dir)
		}
		if err != nil || end != filepath.Join(dir, want.end) || !strings.HasSuffix(strings.Join(through, " "), want.through) {
			t.Errorf("%s leads to %s through %q: %v", path, end, through, err)
		}
		if real, err := filepath.EvalSymlinks(dir + "/" + path); err == nil && real != end {
			t.Errorf("%s leads to %s, not to %s", path, real, end)
		}
	}
	if end, through, err := nofollow.Resolve("/"); end != "/" || len(through) > 0 || err != nil {
		t.Errorf("the root is %s through %q: %v", end, through, err)
	}
	if _, through, _ := nofollow.Resolve(dir); !slices.Contains(through, filepath.Dir(dir)) || slices.Contains(through, dir) {
		t.Errorf("to %s: %q", dir, through)
	}
	for path, want := range map[string]error{"loop": syscall.ELOOP, "file/x": syscall.ENOTDIR} {
		if end, _, err := nofollow.Resolve(filepath.Join(dir, path)); !errors.Is(err, want) {
			t.Errorf("%s leads to %s: %v", path, end, err)
		}
	}
}

func TestAPathIsWithinAFolderIfItIsTheFolderOrBelowIt(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/b": true, "/a/b/": true, "/a/b/c": true, "/a/b/..c": true, "/a/b/../b/c": true,
		"/a": false, "/a/bc": false, "/a/b/../c": false, "b": false, "/": false,
	} {
		wanttest.Equal(t, path+":", nofollow.Within("/a/b", path), want)
	}
}
