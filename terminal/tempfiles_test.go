package terminal_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"nanobot/terminal"
)

func TestTemporaryFilesAreOpenAndKeepTheirNamesUntilTheyAreRemoved(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", link)
	var temp terminal.TempFiles
	var opened []terminal.File
	for i, want := range []string{"a.txt", "a-2.txt", "b"} {
		file, err := temp.Add([]string{"a.txt", "../a.txt", "b"}[i], []byte(want))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(file.Open)
		if real, _ := filepath.EvalSymlinks(file.Path); err != nil || string(content) != want || file.Size != int64(len(want)) ||
			real != filepath.Join(temp.Dir(), want) {
			t.Errorf("%+v has %q, %v", file, content, err)
		}
		opened = append(opened, file)
	}
	dir := temp.Dir()
	temp.Remove()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || temp.Dir() != "" {
		t.Errorf("the folder stays: %v", err)
	}
	for _, file := range opened {
		if err := file.Open.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s is still open: %v", file.Path, err)
		}
	}
}
