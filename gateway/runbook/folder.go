package runbook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// extension is the file name extension of runbooks.
const extension = ".md"

// Folder is a folder of runbooks.
type Folder string

// Names returns the names of the runbooks, sorted. A folder that does not exist has none.
func (f Folder) Names() ([]string, error) {
	entries, err := os.ReadDir(string(f))
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

// Read returns the text of a runbook and its name without the extension; name may have the
// extension. It reads up to one byte more than MaxText, so that Parse refuses a longer text. The
// error of a missing runbook is fs.ErrNotExist.
func (f Folder) Read(name string) (text, short string, err error) {
	short = strings.TrimSuffix(name, extension)
	if short == "" || short[0] == '.' || strings.ContainsAny(short, `/\`) {
		return "", "", fmt.Errorf("%q is not a runbook's name", name)
	}
	text, err = readRegular(filepath.Join(string(f), short+extension), syscall.O_NOFOLLOW, MaxText+1)
	if errors.Is(err, syscall.ELOOP) {
		err = fmt.Errorf("%s is a link, which is not followed: an agent could have made it", short+extension)
	}
	return text, short, err
}

// Load reads and parses a runbook. The error of a runbook that cannot be executed is an
// *InvalidTextError.
func (f Folder) Load(name string) (Runbook, Source, error) {
	text, short, err := f.Read(name)
	if err != nil {
		return Runbook{}, "", err
	}
	book, mistakes, _ := Parse(text)
	if len(mistakes) > 0 {
		return Runbook{}, "", fmt.Errorf("runbook %s cannot be run: %w", short, &InvalidTextError{Problems: mistakes})
	}
	return book, WorkspaceSource(short), nil
}

// ReadFile reads up to limit bytes of a regular file.
func ReadFile(path string, limit int64) (string, error) { return readRegular(path, 0, limit) }

func readRegular(path string, flags int, limit int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0) // a FIFO would block
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
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
