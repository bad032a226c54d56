package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/modebits"
	"nanobot/internal/nofollow"
)

// isolation describes how private files and the folders of other chats are kept from the agent: by
// mounts in the agent's mount namespace or, without one, by granting their parent folders entry by
// entry.
type isolation struct {
	namespace      namespace
	namespaceError string // why there is no namespace
	// A protected path is in mounts or in files, not in both.
	mounts     mounts
	files      landlockFiles
	privateShm bool // the agent has its own /dev/shm
}

// sharedMemory is the folder of POSIX shared memory. An agent has no access to it where it would be
// shared with others.
const sharedMemory = "/dev/shm"

// privatePath is a file or folder that is protected from the agent.
type privatePath struct {
	path     string
	readable bool // the agent may read it, and not change it
	// checkHardLinks says that a hard link to the file is reported.
	checkHardLinks bool
}

// planIsolation determines how private files can be protected, and records what cannot.
func (s *Sandbox) planIsolation() {
	if !s.separatesChats() {
		return
	}
	s.isolation.namespace, s.isolation.namespaceError = s.findNamespace()
	s.planTempDirs()
	if s.o.Sandbox != Landlock {
		if s.isolation.namespace == noNamespace {
			s.missing = append(s.missing,
				"terminal.user: chats are not kept apart, because their agents run as the same user and there are no mount "+
					"namespaces here ("+s.isolation.namespaceError+
					`): an agent can read and write other chats' folders and temporary files; allow namespaces (CAP_SYS_ADMIN), or set terminal.sandbox to "landlock"`)
		}
		if s.usesCommand() && !ownProcesses().MatchString(s.o.Sandbox) {
			s.missing = append(s.missing,
				"terminal.sandbox: agents of all chats run as the same user, and this command creates no PID namespace, so an "+
					"agent can reach another chat's files through "+
					`/proc while that chat's agent runs; use bwrap --unshare-pid --proc /proc, or set terminal.sandbox to "landlock"`)
		}
		if s.o.Sandbox == "" && !canCloseAbstractSockets() {
			s.caveats = append(s.caveats,
				"terminal.user: this kernel's Landlock is too old (before Linux 6.12) or off: the agent can reach abstract sockets")
		}
		return
	}
	s.planSockets()
	var all []privatePath
	for _, path := range s.o.Private {
		all = append(all, privatePath{path: path, checkHardLinks: true})
	}
	state := ""
	if s.o.State != "" && !nofollow.Within(s.o.State, s.o.Workspace) {
		all = append(all, privatePath{path: s.o.State})
		state, _, _ = nofollow.Resolve(s.o.State)
	}
	for _, path := range s.o.ReadOnly {
		all = append(all, privatePath{path: path, readable: true, checkHardLinks: true})
	}
	if s.o.Program != "" {
		all = append(all, privatePath{path: s.o.Program, readable: true})
	}
	g := s.grants()
	for _, p := range all {
		s.protect(p, state, g)
	}
	if users := s.usersDir(); users != "" && s.isolation.namespace == noNamespace {
		s.isolation.files.Hide = append(s.isolation.files.Hide, users)
	}
	s.isolation.removeRedundant()
	s.recordSplitGrants(g)
}

// ownProcesses matches sandbox commands that are known to create a PID namespace. A Landlock domain
// would also separate agents, but would keep the sandbox command from making mounts.
var ownProcesses = lazyregexp.New(`^(\S*/)?(firejail|nsjail|systemd-nspawn)( |$)| --unshare-(pid|all)( |$)|^(\S*/)?unshare .*(--pid|-[a-zA-Z]*p)`)

// separatesChats reports whether each chat's agent has folders that agents of other chats cannot
// see.
func (s *Sandbox) separatesChats() bool { return s.o.Sandbox == Landlock || s.user != nil }

// User returns the user and groups that agents run as; nil: those of this process.
func (s *Sandbox) User() *syscall.Credential {
	if s == nil {
		return nil
	}
	return s.user.credential()
}

// SeparatesChats reports whether each chat's agent has folders that agents of other chats cannot
// see. A nil *Sandbox separates nothing.
func (s *Sandbox) SeparatesChats() bool { return s != nil && s.separatesChats() }

// usersDir returns the parent of all chat folders without symbolic links; "": there is none.
func (s *Sandbox) usersDir() string {
	if s.o.Workspace == "" {
		return ""
	}
	real, _, err := nofollow.Resolve(s.o.Workspace)
	if err != nil {
		real = s.o.Workspace
	}
	return filepath.Join(real, "users")
}

// grantedDirs are the folders that the agent may use, without symbolic links.
type grantedDirs struct{ write, read []string }

func (s *Sandbox) grants() (g grantedDirs) {
	for _, path := range resolveGrants(slices.Concat(s.o.Dirs, s.o.Paths)) {
		if real, readOnly := strings.CutSuffix(path, ":ro"); readOnly {
			g.read = append(g.read, real)
		} else {
			g.write = append(g.write, real)
		}
	}
	for _, path := range systemDirs {
		if real, _, err := nofollow.Resolve(path); err == nil {
			g.read = append(g.read, real)
		}
	}
	return g
}

// resolveGrants resolves the symbolic links of paths and keeps their ":ro". A path through a folder
// that is granted for writing is left out, because an agent could have created a symbolic link
// there.
func resolveGrants(paths []string) []string {
	type place struct {
		end     string
		through []string
	}
	var found []place
	var open []string
	for _, path := range paths {
		path, readOnly := strings.CutSuffix(path, ":ro")
		end, through, err := nofollow.Resolve(path)
		if err != nil {
			continue // the agent cannot open it either
		}
		if readOnly {
			end += ":ro"
		} else {
			open = append(open, end)
		}
		found = append(found, place{end, through})
	}
	var out []string
	for _, p := range found {
		if !slices.ContainsFunc(p.through, func(at string) bool { return withinAny(open, at) }) {
			out = append(out, p.end)
		}
	}
	return out
}

func (g grantedDirs) writes(path string) bool { return withinAny(g.write, path) }
func (g grantedDirs) reads(path string) bool {
	return withinAny(g.write, path) || withinAny(g.read, path)
}

// protect plans the protection of one private file or folder. Files in the state folder need none
// of their own if that folder is hidden.
func (s *Sandbox) protect(p privatePath, state string, g grantedDirs) {
	end, _, links, err := nofollow.ResolveLinks(p.path)
	if err != nil {
		return // the agent cannot open it either
	}
	links = slices.DeleteFunc(links, func(link string) bool { return !g.writes(link) })
	info, err := os.Lstat(end)
	if p.checkHardLinks && err == nil && hasHardLinks(info) && g.onSameDevice(info) && (!p.readable || s.mayWrite(end)) {
		s.missing = append(s.missing,
			fmt.Sprintf("terminal.sandbox: %s has another hard link, through which the agent may reach it; replace it by a "+
				"copy: cp -p %[1]s %[1]s.new && mv %[1]s.new %[1]s", p.path))
	}
	if state != "" && end != state && nofollow.Within(state, end) {
		return
	}
	reached := g.writes(end) || !p.readable && g.reads(end)
	if !reached && len(links) == 0 {
		return
	}
	if users := s.usersDir(); users != "" &&
		(nofollow.Within(users, end) || slices.ContainsFunc(links,
			func(l string) bool { return nofollow.Within(users, l) })) {
		s.missing = append(s.missing,
			fmt.Sprintf("terminal.sandbox: %s is in the folder of a chat, whose agent may change it; move it out of the "+
				"workspace, for example to %s",
				p.path, filepath.Dir(s.o.Workspace)))
	}
	if p.path != s.o.State && slices.ContainsFunc(slices.Concat(s.o.Dirs, s.o.Paths), func(dir string) bool {
		real, _, err := nofollow.Resolve(strings.TrimSuffix(dir, ":ro"))
		return err == nil && nofollow.Within(end, real)
	}) {
		s.missing = append(s.missing,
			fmt.Sprintf("terminal.sandbox: %s is hidden from the agent, but terminal.sandboxPaths or the workspace is in it; "+
				"move it, for example to %s",
				p.path, filepath.Dir(s.o.Workspace)))
	}
	there := err == nil || p.path == s.o.State // which is created before an agent starts
	if s.isolation.namespace == noNamespace || !there || len(links) > 0 {
		s.isolation.files.protect(end, p.readable)
		s.isolation.files.Hide = append(s.isolation.files.Hide, links...)
		return
	}
	if p.readable {
		s.isolation.mounts.ReadOnly = append(s.isolation.mounts.ReadOnly, end)
	} else {
		s.isolation.mounts.Hide = append(s.isolation.mounts.Hide, end)
	}
	// Without a pin, the agent could rename a parent folder and replace it.
	for at := filepath.Dir(end); at != filepath.Dir(at); at = filepath.Dir(at) {
		if g.writes(filepath.Dir(at)) {
			s.isolation.mounts.Pin = append(s.isolation.mounts.Pin, at)
		}
	}
	if g.writes(filepath.Dir(end)) && err == nil && !info.IsDir() {
		s.caveats = append(s.caveats,
			fmt.Sprintf("terminal.sandbox: %s lies where the agent may write, and is protected by a mount, which ends for "+
				"running agents when another file "+
				"replaces it; move it out of the workspace and terminal.sandboxPaths, for example to %s", p.path,
				filepath.Dir(s.o.Workspace)))
	}
}

func (f *landlockFiles) protect(path string, read bool) {
	if read {
		f.ReadOnly = append(f.ReadOnly, path)
	} else {
		f.Hide = append(f.Hide, path)
	}
}

// removeRedundant removes paths that are below a hidden one.
func (s *isolation) removeRedundant() {
	for _, list := range []*[]string{&s.files.Hide, &s.mounts.Hide} {
		*list = outermost(*list)
	}
	for _, list := range []*[]string{&s.files.ReadOnly, &s.mounts.ReadOnly, &s.mounts.Pin} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		*list = slices.DeleteFunc(*list, func(path string) bool { return withinAny(s.mounts.Hide, path) })
	}
}

// recordSplitGrants records which folders are granted entry by entry.
func (s *Sandbox) recordSplitGrants(g grantedDirs) {
	var split []string
	for _, point := range slices.Concat(s.isolation.files.Hide, s.isolation.files.ReadOnly) {
		for at := filepath.Dir(point); g.reads(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
			split = append(split, at)
		}
	}
	slices.Sort(split)
	if split = slices.Compact(split); len(split) == 0 {
		return
	}
	because := "it contains a symbolic link or a file that does not exist yet"
	if s.isolation.namespace == noNamespace {
		because = "there are no mount namespaces here (" + s.isolation.namespaceError + ")"
	}
	s.caveats = append(s.caveats,
		fmt.Sprintf("terminal.sandbox: %s is granted to the agent entry by entry, because %s: directly in it, the agent "+
			"can use existing entries, "+
			"but cannot list, create, rename or delete any. Give it a subfolder to work in, which must exist when it starts",
			abbreviateList(split), because))
}

// planTempDirs decides what agents see at /tmp and /var/tmp, which are shared by all users.
func (s *Sandbox) planTempDirs() {
	if s.isolation.namespace == noNamespace {
		return
	}
	info, err := os.Lstat(sharedMemory)
	s.isolation.privateShm = err == nil && info.IsDir()
	g := s.grants()
	for _, path := range []string{"/tmp", "/var/tmp"} {
		temp, err := filepath.EvalSymlinks(path)
		if err != nil || slices.Contains(s.isolation.mounts.Temps, temp) {
			continue
		}
		var needed []string
		for _, dir := range slices.Concat(g.write, g.read, []string{filepath.Dir(s.usersDir())}) {
			if nofollow.Within(temp, dir) {
				needed = append(needed, dir)
			}
		}
		switch {
		case len(needed) == 0:
			s.isolation.mounts.Temps = append(s.isolation.mounts.Temps, temp)
		default:
			s.cover(temp, append(needed, s.ownPaths()...))
		}
	}
}

// TempPath translates a path in the agent's mount namespace into ours: the agent's /tmp may be the
// temporary folder of its chat.
func (s *Sandbox) TempPath(chat ChatDirs, path string) string {
	if s == nil || chat.Temp == "" {
		return path
	}
	path = filepath.Clean(path)
	for _, temp := range slices.Concat([]string{"/tmp", "/var/tmp"}, s.isolation.mounts.Temps) {
		real, err := filepath.EvalSymlinks(temp)
		if err == nil && nofollow.Within(temp, path) && slices.Contains(s.isolation.mounts.Temps, real) {
			return filepath.Join(chat.Temp, strings.TrimPrefix(path, temp))
		}
	}
	return path
}

// IsOvermounted reports whether a mount in the agent's namespace hides our file at a path without
// symbolic links. That file is not the one that the agent means, and may belong to anybody.
func (s *Sandbox) IsOvermounted(chat ChatDirs, path string) bool {
	if s == nil || chat.Temp == "" || s.isolation.namespace == noNamespace {
		return false
	}
	return s.isCovered(path)
}

// cover hides everything in a folder except for the needed paths.
func (s *Sandbox) cover(dir string, needed []string) {
	needed = slices.DeleteFunc(outermost(needed), func(path string) bool { return !nofollow.Within(dir, path) })
	if s.isolation.mounts.Cover == nil {
		s.isolation.mounts.Cover = map[string][]string{}
	}
	s.isolation.mounts.Cover[dir] = needed
}

// outermost returns the sorted paths without those that are below another one.
func outermost(paths []string) (out []string) {
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if !slices.ContainsFunc(paths, func(above string) bool { return above != path && nofollow.Within(above, path) }) {
			out = append(out, path)
		}
	}
	return out
}

func withinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return nofollow.Within(dir, path) })
}

// hasHardLinks reports whether a regular file has more than one name.
func hasHardLinks(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}

// onSameDevice reports whether a hard link to a file could be in a folder that the agent may write
// to.
func (g grantedDirs) onSameDevice(file fs.FileInfo) bool {
	own, ok := file.Sys().(*syscall.Stat_t)
	return ok && slices.ContainsFunc(g.write, func(dir string) bool {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return ok && stat.Dev == own.Dev
	})
}

// mayWrite reports whether the mode of a file lets the agent write to it.
func (s *Sandbox) mayWrite(path string) bool {
	if s.user == nil {
		return syscall.Access(path, 2) == nil
	}
	info, err := os.Stat(path)
	return err == nil && s.user.hasPermission(info, modebits.Write)
}
