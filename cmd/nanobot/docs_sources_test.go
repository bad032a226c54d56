package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/musttest"
)

// sourceFiles returns the paths of the repository's files. Tests of other packages run at the same
// time and may make folders in theirs, so what disappears meanwhile and what is no ordinary file
// is left out.
func sourceFiles(t *testing.T) []string {
	t.Helper()
	files := musttest.Get(listSources())(t)
	if len(files) < 500 {
		t.Fatalf("the repository has only %d files", len(files))
	}
	return files
}

var listSources = sync.OnceValues(func() ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && isNoSourceFolder(e.Name()):
			return filepath.SkipDir
		case e.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, err
})

// isNoSourceFolder reports whether a folder of that name is made by git, npm or a test.
func isNoSourceFolder(name string) bool {
	return name == ".git" || name == "node_modules" || strings.HasPrefix(name, "outside-")
}
