package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/internal/nofollow"
	"nanobot/terminal"
)

// spot is a file that an agent may use: a root folder that is held open, and the path below it
// without any links. Should somebody put a link there meanwhile, the root does not let it lead out.
type spot struct {
	root  *os.Root
	rel   string
	path  string // the whole of it
	guard terminal.FileGuard
}

// find returns the spot that a path means, which must be closed. The file need not exist.
func find(p terminal.ExecEnv, path string) (*spot, *rpcError) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return nil, invalid("path %q: must be an absolute path", path)
	}
	real, _, err := nofollow.Resolve(filepath.Clean(path))
	if err != nil {
		return nil, fileError(path, err)
	}
	if slices.ContainsFunc(p.Private, func(own string) bool { return isOrHolds(own, real) }) {
		return nil, invalid("path %q: one of the gateway's own files, which are not for agents", path)
	}
	guard := terminal.FileGuard{Private: p.Private, Chats: p.Chats}
	for _, at := range []string{path, real} { // as it was asked for, and as it was found
		if err := guard.CheckPath(at); err != nil {
			return nil, fileError(path, err)
		}
	}
	for _, dir := range p.Roots {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil || !holds(dir, real) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fileError(path, err)
		}
		rel, _ := filepath.Rel(dir, real)
		return &spot{root: root, rel: rel, path: real, guard: guard}, nil
	}
	return nil, invalid("path %q: outside the folders that this agent may use: %s", path, strings.Join(p.Roots, ", "))
}

func (s *spot) close() { _ = s.root.Close() }

// isOrHolds reports whether a path without links is one of the gateway's own, or the same file
// under another name.
func isOrHolds(own, real string) bool {
	if own == "" {
		return false
	}
	if r, _, err := nofollow.Resolve(filepath.Clean(own)); err == nil && holds(r, real) {
		return true
	}
	a, aerr := os.Stat(own)
	b, berr := os.Stat(real)
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func invalid(format string, args ...any) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// fileError tells the agent what is wrong with a file, by the name that it knows.
func fileError(path string, err error) *rpcError {
	code := codeInternal
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, err = codeNotFound, errors.New("no such file")
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return &rpcError{Code: code, Message: fmt.Sprintf("%q: %s", path, err)}
}
