package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"nanobot/cmd/nanobot/state"
	"nanobot/config"
	"nanobot/internal/atomicfile"
	"nanobot/internal/peersocket"
	"nanobot/terminal/sandbox"
)

// openSocket listens on the socket of the MCP tools, in the first suitable folder. If there is none
// it logs the reason and returns nil; the daemon then runs without tools.
func openSocket(cfg *config.Config, parents []string, log *zap.Logger) *peersocket.Listener {
	var failures []error
	for _, parent := range parents {
		err := checkSocketFolder(cfg, parent)
		if err == nil {
			var l *peersocket.Listener
			if l, err = peersocket.Listen(parent); err == nil {
				warnHiddenSocket(cfg, parent, log)
				return l
			}
		}
		failures = append(failures, fmt.Errorf("%s: %w", parent, err))
	}
	log.Warn("agents get no MCP tools, because no folder is suitable for the socket; "+
		"set XDG_RUNTIME_DIR to another folder", zap.Error(errors.Join(failures...)))
	return nil
}

// socketPath returns the path of a socket, or "" for nil.
func socketPath(l *peersocket.Listener) string {
	if l == nil {
		return ""
	}
	return l.Path()
}

func closeSocket(l *peersocket.Listener) {
	if l != nil {
		_ = l.Close()
	}
}

// socketParents returns the folders for a socket, best first. Agents cannot write to systemd's
// folder, nor, in a sandbox or as another user, to the others.
func socketParents(getenv func(string) string, root bool) []string {
	runtime, _, _ := strings.Cut(getenv("RUNTIME_DIRECTORY"), ":") // systemd lists all of them
	all := []string{runtime, getenv("XDG_RUNTIME_DIR")}
	if root {
		all = append(all, "/run")
	}
	return slices.DeleteFunc(append(all, os.TempDir()), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// checkSocketFolder returns an error if agents could replace a socket in a folder, or not reach it.
func checkSocketFolder(cfg *config.Config, parent string) error {
	if containsAny(cfg.Workspace, parent) {
		return errors.New("it is in the workspace, which agents can write to")
	}
	if !anyAgent(cfg, func(t config.Terminal) bool { return t.User != "" }) {
		return nil
	}
	for at := parent; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("other users (terminal.user) cannot enter %s", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// warnHiddenSocket logs a warning if the socket is in a folder for temporary files and agents may
// have their own one.
func warnHiddenSocket(cfg *config.Config, parent string, log *zap.Logger) {
	isolated := func(t config.Terminal) bool { return t.User != "" || t.Sandbox == sandbox.Landlock }
	if anyAgent(cfg, isolated) && (containsAny("/tmp", parent) || containsAny("/var/tmp", parent)) {
		log.Warn("agents may have their own folder for temporary files and then cannot reach the socket of the MCP tools; "+
			"set XDG_RUNTIME_DIR to another folder", zap.String("folder", parent))
	}
}

// anyAgent reports whether a condition holds for the settings of any agent.
func anyAgent(cfg *config.Config, is func(config.Terminal) bool) bool {
	return slices.ContainsFunc(cfg.AgentNames(), func(name string) bool {
		own, _ := cfg.ForAgent(name)
		return is(own.Terminal)
	})
}

// announceSocket writes the path of the socket to a file in the state folder, for MCP servers that
// no agent started, and removes the socket of a daemon that was killed. withdraw removes the file.
// The caller must hold the lock of the state.
func announceSocket(dir string, l *peersocket.Listener, log *zap.Logger) (withdraw func()) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		log.Warn("nanobot mcp cannot find the daemon", zap.Error(err))
		return func() {}
	}
	if left, err := readSocketFile(folder); err == nil {
		if err := peersocket.Remove(left); err != nil {
			log.Debug("socket of the last run not removed", zap.Error(err))
		}
		_ = folder.Remove(state.Socket)
	}
	if l != nil {
		err = atomicfile.Replace(folder, state.Socket, func(f *os.File) error {
			_, err := f.WriteString(l.Path() + "\n")
			return errors.Join(err, f.Chmod(0o600))
		})
		if err != nil {
			log.Warn("nanobot mcp cannot find the daemon", zap.Error(err))
		}
	}
	return func() {
		if l != nil {
			_ = folder.Remove(state.Socket)
		}
		_ = folder.Close()
	}
}

// readSocketFile returns the socket path in the file of the state folder.
func readSocketFile(folder *os.Root) (string, error) {
	info, err := folder.Lstat(state.Socket)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 4<<10 {
		return "", fmt.Errorf("%s was not written by the daemon", state.Socket)
	}
	b, err := folder.ReadFile(state.Socket)
	return strings.TrimSpace(string(b)), err
}
