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

// openSocket opens the socket by which agents reach the daemon's tools, in the first folder that
// will do. A daemon without one runs all the same: nil, and the log says why.
func openSocket(cfg *config.Config, parents []string, log *zap.Logger) *peersocket.Listener {
	var wrong []error
	for _, parent := range parents {
		err := fitForSocket(cfg, parent)
		if err == nil {
			var l *peersocket.Listener
			if l, err = peersocket.Listen(parent); err == nil {
				noteHidden(cfg, parent, log)
				return l
			}
		}
		wrong = append(wrong, fmt.Errorf("%s: %w", parent, err))
	}
	log.Warn("agents have no tools of the chat, because there is no folder for a socket; set XDG_RUNTIME_DIR to one", zap.Error(errors.Join(wrong...)))
	return nil
}

// socketPath is where a socket is; "": there is none.
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

// socketParents returns the folders where a socket may be, best first. Agents can write neither to
// systemd's nor, in a sandbox or as another user, to the others.
func socketParents(getenv func(string) string, root bool) []string {
	runtime, _, _ := strings.Cut(getenv("RUNTIME_DIRECTORY"), ":") // systemd lists all of them
	all := []string{runtime, getenv("XDG_RUNTIME_DIR")}
	if root {
		all = append(all, "/run")
	}
	return slices.DeleteFunc(append(all, os.TempDir()), func(dir string) bool { return !filepath.IsAbs(dir) })
}

// fitForSocket returns why agents could not reach a socket in a folder, or could replace it.
func fitForSocket(cfg *config.Config, parent string) error {
	if holdsAny(cfg.Workspace, parent) {
		return errors.New("it is in the workspace, where agents write")
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
			return fmt.Errorf("other users (terminal.user) cannot pass through %s", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// noteHidden says when agents do not see the folder of the socket.
func noteHidden(cfg *config.Config, parent string, log *zap.Logger) {
	apart := func(t config.Terminal) bool { return t.User != "" || t.Sandbox == sandbox.Landlock }
	if anyAgent(cfg, apart) && (holdsAny("/tmp", parent) || holdsAny("/var/tmp", parent)) {
		log.Warn("agents may have a folder for temporary files of their own, and then cannot reach the tools of the chat, because the socket is in ours; "+
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

// announceSocket writes into the folder of the state where the socket is, for tools that are not
// started by an agent, and removes the socket of a daemon that was killed. The function it returns
// takes that back. The state must be locked.
func announceSocket(dir string, l *peersocket.Listener, log *zap.Logger) (withdraw func()) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		log.Warn("tools outside of agents cannot find the daemon", zap.Error(err))
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
			log.Warn("tools outside of agents cannot find the daemon", zap.Error(err))
		}
	}
	return func() {
		if l != nil {
			_ = folder.Remove(state.Socket)
		}
		_ = folder.Close()
	}
}

// readSocketFile returns the path in the file of the state.
func readSocketFile(folder *os.Root) (string, error) {
	info, err := folder.Lstat(state.Socket)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 4<<10 {
		return "", fmt.Errorf("%s: not a file of ours", state.Socket)
	}
	b, err := folder.ReadFile(state.Socket)
	return strings.TrimSpace(string(b)), err
}
