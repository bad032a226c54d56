package access

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
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/media"
)

// agentFile is a file that an agent may use: an open root folder, and a path below it without
// symbolic links. Opening through root prevents a symbolic link that is created later from leading
// out of it.
type agentFile struct {
	root  *os.Root
	rel   string
	path  string   // absolute
	links []string // the symbolic links that lead to it, absolute
	guard media.Guard
}

// resolveFile resolves a path for an agent. The file need not exist. The caller closes the result.
func resolveFile(p terminal.ExecEnv, path string) (*agentFile, *rpc.Error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return nil, rpc.InvalidParams("path %q: must be an absolute path", path)
	}
	real, _, links, err := nofollow.ResolveLinks(filepath.Clean(path))
	if err != nil {
		return nil, fileError(path, err)
	}
	if slices.ContainsFunc(p.Private, func(private string) bool { return isPrivateFile(private, real) }) {
		return nil, rpc.InvalidParams("path %q: one of the gateway's own files, which are not for agents", path)
	}
	guard := media.Guard{Private: p.Private, Chats: p.Chats}
	for _, candidate := range []string{path, real} { // as the agent wrote it, and without links
		if err := guard.CheckPath(candidate); err != nil {
			return nil, fileError(path, err)
		}
	}
	for _, dir := range p.Roots {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil || !nofollow.Within(dir, real) {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fileError(path, err)
		}
		rel, _ := filepath.Rel(dir, real)
		return &agentFile{root: root, rel: rel, path: real, links: links, guard: guard}, nil
	}
	return nil, rpc.InvalidParams("path %q: outside the folders that this agent may use: %s", path,
		strings.Join(p.Roots, ", "))
}

// envFor returns the session's environment, with the folder of a file that is one of the agent's
// plans as another root.
func (s *Session) envFor(path string) terminal.ExecEnv {
	env := s.env
	file, _, err := nofollow.Resolve(filepath.Clean(path))
	dir := filepath.Dir(file)
	if err != nil || filepath.Base(dir) != "plans" || filepath.Ext(file) != ".md" {
		return env
	}
	for _, home := range s.policy.PlanFolders {
		if home, err := filepath.EvalSymlinks(home); err == nil && nofollow.Within(home, dir) {
			env.Roots = append(slices.Clone(env.Roots), dir)
		}
	}
	return env
}

func (a *agentFile) close() { _ = a.root.Close() }

// isPrivateFile reports whether real is the path private, is below it, or is the same file under
// another name.
func isPrivateFile(private, real string) bool {
	if private == "" {
		return false
	}
	if r, _, err := nofollow.Resolve(filepath.Clean(private)); err == nil && nofollow.Within(r, real) {
		return true
	}
	a, aerr := os.Stat(private)
	b, berr := os.Stat(real)
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

// fileError converts err for the agent, with the path that the agent used.
func fileError(path string, err error) *rpc.Error {
	code := rpc.CodeInternal
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code, err = rpc.CodeNotFound, errors.New("no such file")
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return &rpc.Error{Code: code, Message: fmt.Sprintf("%q: %s", path, err)}
}
