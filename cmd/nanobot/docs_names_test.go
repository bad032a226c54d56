package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTestThatTheDocsNameExists keeps the claims of the pages tied to the tests that show them.
func TestEveryTestThatTheDocsNameExists(t *testing.T) {
	root := filepath.Join("..", "..")
	defined := map[string]bool{}
	definition := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range definition.FindAllSubmatch(source, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	for _, p := range docsPages(t) {
		for _, name := range named.FindAllString(p.text, -1) {
			if !defined[name] && name != "TestName" { // for the reader to replace
				t.Errorf("%s names %s, which does not exist", p.path, name)
			}
		}
	}
}
