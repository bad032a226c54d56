package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// testNames returns the names of all tests, fuzz targets and benchmarks of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, path := range sourceFiles(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		source := musttest.Get(os.ReadFile(path))(t)
		for line := range strings.Lines(string(source)) {
			if !strings.HasPrefix(line, "func Test") && !strings.HasPrefix(line, "func Fuzz") && !strings.HasPrefix(line, "func Benchmark") {
				continue
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "func "), "(")
			names[name] = true
		}
	}
	return names
}

// TestEveryTestThatTheDocsNameExists keeps the claims of the pages tied to the tests that show
// them.
func TestEveryTestThatTheDocsNameExists(t *testing.T) {
	t.Parallel()
	defined := testNames(t)
	named := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	for _, p := range docsPages(t) {
		for _, name := range named.FindAllString(p.text, -1) {
			if !defined[name] && name != "TestName" { // for the reader to replace
				t.Errorf("%s names %s, which does not exist", p.path, name)
			}
		}
	}
}

// TestEveryFilterOfTheScriptsSelectsATest finds a -run or -bench that selects nothing since a test
// was renamed, in the scripts and in the page that names their commands.
func TestEveryFilterOfTheScriptsSelectsATest(t *testing.T) {
	t.Parallel()
	names := testNames(t)
	var all strings.Builder
	for name := range names {
		all.WriteString(name + "\n")
	}
	root := filepath.Join("..", "..")
	files := musttest.Get(filepath.Glob(filepath.Join(root, ".ci", "*")))(t)
	filter := regexp.MustCompile(`-(?:run|bench) (?:'([^']+)'|(\w+))`)
	for _, path := range append(files, filepath.Join(root, "Makefile"), filepath.Join(root, "docs", "performance.md")) {
		text := musttest.Get(os.ReadFile(path))(t)
		for _, m := range filter.FindAllStringSubmatch(string(text), -1) {
			for word := range strings.SplitSeq(m[1]+m[2], "|") {
				if !strings.Contains(all.String(), strings.Trim(word, "^$")) {
					t.Errorf("%s selects %q, and no test has that in its name", path, word)
				}
			}
		}
	}
}
