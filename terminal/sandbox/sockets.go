package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
	"nanobot/internal/peersocket"
)

// Through a Unix socket an agent could have another program act for it outside the sandbox: a
// terminal multiplexer, a container engine, a bus or a key agent. Before version 9, Landlock does
// not restrict sockets in the file system, so they are hidden by mounts. Without a mount namespace
// they are reported.
var (
	// nameServices contain files and sockets with which programs look up hosts and users.
	nameServices = []string{
		"/run/systemd/resolve", "/run/systemd/userdb", "/run/nscd", "/run/avahi-daemon",
		"/var/lib/sss/pipes",
	}
	// systemServices contain sockets that the system offers to every user, if their modes say so.
	systemServices = slices.Concat(nameServices, []string{"/run/systemd", "/run/dbus", "/dev/log"})
)

// homeSocketFolders returns the folders of a home directory in which key agents, container engines
// and others create sockets.
func homeSocketFolders(home string) (dirs []string) {
	for _, name := range []string{".gnupg", ".ssh", ".docker", ".1password", ".colima", ".lima"} {
		if filepath.IsAbs(home) {
			dirs = append(dirs, filepath.Join(home, name))
		}
	}
	return dirs
}

// runtimeDirs returns the folders for sockets, without symbolic links.
func runtimeDirs() (dirs []string) {
	for _, dir := range []string{"/run", "/var/run", os.Getenv("XDG_RUNTIME_DIR")} {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && filepath.IsAbs(real) && real != "/" {
			dirs = append(dirs, real)
		}
	}
	return outermost(dirs)
}

// planSockets covers the folders for sockets, or reports the sockets that the agent could connect
// to.
func (s *Sandbox) planSockets() {
	if s.isolation.namespace != noNamespace {
		g, needed := s.grants(), s.neededPaths()
		for _, dir := range runtimeDirs() {
			if !g.reads(dir) && !s.isCovered(dir) {
				s.cover(dir, needed)
			}
		}
		return
	}
	if landlockRestrictsSockets() {
		return
	}
	if found := s.reachableSockets(); len(found) > 0 {
		s.missing = append(s.missing,
			fmt.Sprintf("terminal.sandbox: the agent can leave the sandbox through sockets of other programs (%s), because "+
				"there are no mount namespaces here (%s) "+
				"and this kernel's Landlock does not restrict sockets (Linux 7.1 does); hide them from the daemon "+
				"(InaccessiblePaths= of a systemd unit), or name those that the agent may use in terminal.sandboxPaths",
				abbreviateList(found), s.isolation.namespaceError))
	}
}

// ownPaths returns what agents use of the gateway: its executable and the folder of its socket.
func (s *Sandbox) ownPaths() (all []string) {
	if s.o.RunProgram && s.o.Program != "" {
		all = append(all, s.o.Program)
	}
	if s.o.Socket != "" {
		all = append(all, filepath.Dir(s.o.Socket))
	}
	for i, path := range all {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all[i] = real
		}
	}
	return all
}

// neededPaths returns the paths that agents use, without symbolic links, and the links that lead to
// them. A path through a folder that agents may change is left out, as in resolveGrants.
func (s *Sandbox) neededPaths() []string {
	all, g := slices.Concat(s.ownPaths(), s.isolation.mounts.Temps), s.grants()
	for _, path := range slices.Concat(s.o.Dirs, s.o.Paths, systemDirs, nameServices, []string{s.o.Workspace}) {
		end, through, links, err := nofollow.ResolveLinks(strings.TrimSuffix(path, ":ro"))
		if err == nil && end != "/" && !slices.ContainsFunc(through, g.writes) {
			all = append(append(all, end), links...)
		}
	}
	return all
}

// isCovered reports whether a path is hidden by a mount on one of its parents.
func (s *Sandbox) isCovered(path string) bool {
	for dir, needed := range s.isolation.mounts.Cover {
		if nofollow.Within(dir, path) && !withinAny(needed, path) {
			return true
		}
	}
	return withinAny(s.isolation.mounts.Temps, path) || withinAny(s.isolation.mounts.Hide, path) ||
		s.isolation.privateShm && nofollow.Within(sharedMemory, path)
}

// mayConnect reports whether the agent is meant to use a socket. Folders that it may only read do
// not include their sockets.
func (s *Sandbox) mayConnect(socket string, g grantedDirs) bool {
	return g.writes(socket) || withinAny(nameServices, socket) || withinAny(s.ownPaths(), socket)
}

// socketsToHide returns sockets of other programs, or their folders if the agent needs nothing
// there: a program that is started again replaces its socket, and a mount on the old one ends.
func (s *Sandbox) socketsToHide() (hide []string) {
	g, home := s.grants(), s.home()
	needed := slices.Concat(s.neededPaths(), []string{home, "/dev", "/proc", "/sys"})
	isNeeded := func(dir string) bool {
		return g.reads(dir) || slices.ContainsFunc(needed, func(path string) bool { return nofollow.Within(dir, path) })
	}
	for _, socket := range listSockets(nil) {
		switch dir := filepath.Dir(socket); {
		case s.isCovered(socket) || s.mayConnect(socket, g):
		case isNeeded(dir):
			hide = append(hide, socket)
		default:
			hide = append(hide, dir)
		}
	}
	for _, dir := range homeSocketFolders(home) {
		dir, err := filepath.EvalSymlinks(dir)
		if err == nil && !isNeeded(dir) && !s.isCovered(dir) {
			hide = append(hide, dir)
		}
	}
	return outermost(hide)
}

// home returns the home directory of the agent's user.
func (s *Sandbox) home() string {
	home, _ := os.UserHomeDir()
	if s.user != nil {
		home = s.user.home
	}
	return home
}

// reachableSockets returns the sockets of other programs that the agent's user may connect to,
// except for those that the system offers to every user, and those of other nanobots, which check
// who has connected.
func (s *Sandbox) reachableSockets() (found []string) {
	g := s.grants()
	for _, socket := range listSockets(slices.Concat(runtimeDirs(), []string{"/tmp", "/var/tmp"},
		homeSocketFolders(s.home()))) {
		info, err := os.Lstat(socket)
		switch {
		case err != nil || s.mayConnect(socket, g) || peersocket.IsPath(socket):
		case withinAny(systemServices, socket) && info.Mode()&modebits.Write != 0:
		case s.canConnect(socket, info):
			found = append(found, socket)
		}
	}
	return found
}

// canConnect reports whether modes let the agent's user connect to a socket.
func (s *Sandbox) canConnect(socket string, info fs.FileInfo) bool {
	if s.user == nil {
		return syscall.Access(socket, uint32(modebits.Write)) == nil
	}
	closed, _, err := s.user.firstClosedDir(filepath.Dir(socket))
	return err == nil && closed == "" && s.user.hasPermission(info, modebits.Write)
}
