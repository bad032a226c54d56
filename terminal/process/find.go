package process

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// defaultPath is the PATH of an environment without one.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// FindProgram finds a program as a shell in dir with this environment would.
func FindProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		path := absPath(dir, name)
		return path, checkExecutable(path)
	}
	path := defaultPath
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if file := filepath.Join(absPath(dir, folder), name); checkExecutable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("unknown command: there is no program %q in PATH", name)
}

func absPath(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func checkExecutable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return fmt.Errorf("unknown command: %w", err)
	case info.IsDir():
		return fmt.Errorf("unknown command: %s is a folder", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program: %w", file, fs.ErrPermission)
	}
	return nil
}
