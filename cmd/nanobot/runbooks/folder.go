// Package runbooks is what nanobot runbook does: it lists, checks, verifies and exports runbooks
// and runs, and drives a run from a terminal or a script. It starts no process: how a shell step is
// executed is handed in.
package runbooks

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nanobot/gateway/runbook"
)

// extension is what the names of runbooks' files end with.
const extension = ".md"

// Names returns the names of the runbooks in a folder, in order. A folder that does not exist has
// none.
func Names(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runbooks: %w", err)
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if ok && name != "" && name[0] != '.' && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// Load reads a runbook of a folder by its name, with or without the extension, and returns the name
// without it.
func Load(folder, name string) (text, short string, err error) {
	short = strings.TrimSuffix(name, extension)
	if short == "" || short[0] == '.' || strings.ContainsAny(short, `/\`) {
		return "", "", fmt.Errorf("%q is no name of a runbook", name)
	}
	text, err = Read(filepath.Join(folder, short+extension))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no runbook %s in %s; nanobot runbook list shows them", short, folder)
	}
	return text, short, err
}

// Read reads the file of a runbook, as far as a runbook can be read.
func Read(path string) (string, error) {
	return readFile(path, runbook.MaxText+1) // one more, so that it is refused
}

// maxExport is far more than the records of a runbook with as many steps as its size allows.
const maxExport = 1 << 30

func readFile(path string, limit int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO would block
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", path)
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(b), nil
}
