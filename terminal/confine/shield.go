package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"nanobot/internal/modebits"
	"nanobot/internal/straight"
)

// shield is how private files, and the folders of other chats, are kept from the agent: by mounts
// where the agent has a mount namespace, and else by granting the folders that hold them entry by
// entry.
type shield struct {
	space namespace
	why   string // there is no namespace
	// mounts and files say the same to both; what is in one is not in the other.
	mounts mounts
	files  files
	memory bool // the folder of shared memory is the agent's own
}

// sharedMemory is where programs find it. Where it would be everybody's, an agent does not have it.
const sharedMemory = "/dev/shm"

// private is a file or folder that is kept from the agent.
type private struct {
	path string
	read bool // it may be read, and not changed
	// copies says that it matters if the file has a second name.
	copies bool
}

// raise finds out how the private files can be kept from the agent, and says what cannot.
func (c *Confinement) raise() {
	if !c.apart() {
		return
	}
	c.shield.space, c.shield.why = c.findNamespace()
	c.placeTemps()
	if c.o.Sandbox != Landlock {
		if c.shield.space == noNamespace {
			c.missing = append(c.missing, "terminal.user: chats are not kept apart, because their agents are one user and there are no mount namespaces here ("+c.shield.why+
				`): an agent can read and write other chats' folders and temporary files; allow namespaces (CAP_SYS_ADMIN), or set terminal.sandbox to "landlock"`)
		}
		if c.wrapped() && !ownProcesses.MatchString(c.o.Sandbox) {
			c.missing = append(c.missing, "terminal.sandbox: agents of all chats are one user, and this command does not give each its own processes, so one can reach another chat's files by way "+
				`of /proc while that chat's agent runs; bwrap --unshare-pid --proc /proc does, and terminal.sandbox "landlock" keeps them apart, too`)
		}
		return
	}
	var all []private
	for _, path := range c.o.Private {
		all = append(all, private{path: path, copies: true})
	}
	state := ""
	if c.o.State != "" && !within(c.o.State, c.o.Workspace) {
		all = append(all, private{path: c.o.State})
		state, _, _ = straight.Way(c.o.State)
	}
	for _, path := range c.o.Fixed {
		all = append(all, private{path: path, read: true, copies: true})
	}
	if c.o.Program != "" {
		all = append(all, private{path: c.o.Program, read: true})
	}
	g := c.grants()
	for _, p := range all {
		c.keep(p, state, g)
	}
	if users := c.users(); users != "" && c.shield.space == noNamespace {
		c.shield.files.Hide = append(c.shield.files.Hide, users)
	}
	c.shield.tidy()
	c.explain(g)
}

// ownProcesses are the commands that are known to put the agent into a PID namespace. A Landlock
// domain would keep agents apart as well, and keep the command from making mounts.
var ownProcesses = regexp.MustCompile(`^(\S*/)?(firejail|nsjail|systemd-nspawn)( |$)| --unshare-(pid|all)( |$)|^(\S*/)?unshare .*(--pid|-[a-zA-Z]*p)`)

// apart reports whether each chat's agent has folders that others do not see.
func (c *Confinement) apart() bool { return c.o.Sandbox == Landlock || c.who != nil }

// User is the user that agents run as, with the groups they have; nil: the one that we are.
func (c *Confinement) User() *syscall.Credential {
	if c == nil {
		return nil
	}
	return c.who.credential()
}

// Apart is the same for others. A nil confinement keeps nothing apart.
func (c *Confinement) Apart() bool { return c != nil && c.apart() }

// users is the folder of the chats' folders, without links; "": there is none.
func (c *Confinement) users() string {
	if c.o.Workspace == "" {
		return ""
	}
	real, _, err := straight.Way(c.o.Workspace)
	if err != nil {
		real = c.o.Workspace
	}
	return filepath.Join(real, "users")
}

// grants are the folders that the agent may use, without links.
type grants struct{ write, read []string }

func (c *Confinement) grants() (g grants) {
	for _, path := range slices.Concat(c.o.Dirs, c.o.Paths) {
		path, readOnly := strings.CutSuffix(path, ":ro")
		real, _, err := straight.Way(path)
		switch {
		case err != nil:
		case readOnly:
			g.read = append(g.read, real)
		default:
			g.write = append(g.write, real)
		}
	}
	for _, path := range systemDirs {
		if real, _, err := straight.Way(path); err == nil {
			g.read = append(g.read, real)
		}
	}
	return g
}

func (g grants) writes(path string) bool { return withinAny(g.write, path) }
func (g grants) reads(path string) bool  { return withinAny(g.write, path) || withinAny(g.read, path) }

// keep has one private file or folder kept from the agent. What lies in the folder of the state, if
// that is hidden, needs nothing more.
func (c *Confinement) keep(p private, state string, g grants) {
	end, _, links, err := straight.Follow(p.path)
	if err != nil {
		return // nor does anybody come there
	}
	links = slices.DeleteFunc(links, func(link string) bool { return !g.writes(link) })
	info, err := os.Lstat(end)
	if p.copies && err == nil && linked(info) && g.sameDisk(info) && (!p.read || c.couldWrite(end)) {
		c.missing = append(c.missing, fmt.Sprintf("terminal.sandbox: %s has another name somewhere (a hard link), by which the agent may reach it; copy it: cp -p %[1]s %[1]s.new && mv %[1]s.new %[1]s", p.path))
	}
	if state != "" && end != state && within(state, end) {
		return
	}
	reached := g.writes(end) || !p.read && g.reads(end)
	if !reached && len(links) == 0 {
		return
	}
	if users := c.users(); users != "" && (within(users, end) || slices.ContainsFunc(links, func(l string) bool { return within(users, l) })) {
		c.missing = append(c.missing, fmt.Sprintf("terminal.sandbox: %s lies in the folder of a chat, which that chat's agent may change; put it outside the workspace, such as into %s",
			p.path, filepath.Dir(c.o.Workspace)))
	}
	if p.path != c.o.State && slices.ContainsFunc(slices.Concat(c.o.Dirs, c.o.Paths), func(dir string) bool {
		real, _, err := straight.Way(strings.TrimSuffix(dir, ":ro"))
		return err == nil && within(end, real)
	}) {
		c.missing = append(c.missing, fmt.Sprintf("terminal.sandbox: %s is kept from the agent, and terminal.sandboxPaths or the workspace is in it; put it elsewhere, such as into %s",
			p.path, filepath.Dir(c.o.Workspace)))
	}
	there := err == nil || p.path == c.o.State // which is made before an agent starts
	if c.shield.space == noNamespace || !there || len(links) > 0 {
		c.shield.files.add(end, p.read)
		c.shield.files.Hide = append(c.shield.files.Hide, links...)
		return
	}
	if p.read {
		c.shield.mounts.Fix = append(c.shield.mounts.Fix, end)
	} else {
		c.shield.mounts.Hide = append(c.shield.mounts.Hide, end)
	}
	// Who renames a folder above could put another one into its place.
	for at := filepath.Dir(end); at != filepath.Dir(at); at = filepath.Dir(at) {
		if g.writes(filepath.Dir(at)) {
			c.shield.mounts.Pin = append(c.shield.mounts.Pin, at)
		}
	}
	if g.writes(filepath.Dir(end)) && err == nil && !info.IsDir() {
		c.notes = append(c.notes, fmt.Sprintf("terminal.sandbox: %s lies where the agent may write, and is kept from it by a mount, which ends for agents that are running when another file is moved "+
			"into its place; put it outside the workspace and terminal.sandboxPaths, such as into %s", p.path, filepath.Dir(c.o.Workspace)))
	}
}

func (f *files) add(path string, read bool) {
	if read {
		f.Fix = append(f.Fix, path)
	} else {
		f.Hide = append(f.Hide, path)
	}
}

// tidy drops what is in something that is hidden anyway.
func (s *shield) tidy() {
	for _, list := range []*[]string{&s.files.Hide, &s.mounts.Hide} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		all := slices.Clone(*list)
		*list = slices.DeleteFunc(*list, func(path string) bool {
			return slices.ContainsFunc(all, func(above string) bool { return above != path && within(above, path) })
		})
	}
	for _, list := range []*[]string{&s.files.Fix, &s.mounts.Fix, &s.mounts.Pin} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		*list = slices.DeleteFunc(*list, func(path string) bool { return withinAny(s.mounts.Hide, path) })
	}
}

// explain notes which folders are granted entry by entry.
func (c *Confinement) explain(g grants) {
	var split []string
	for _, point := range slices.Concat(c.shield.files.Hide, c.shield.files.Fix) {
		for at := filepath.Dir(point); g.reads(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
			split = append(split, at)
		}
	}
	slices.Sort(split)
	if split = slices.Compact(split); len(split) == 0 {
		return
	}
	because := "a link or a file that is not there yet lies in it"
	if c.shield.space == noNamespace {
		because = "there are no mount namespaces here (" + c.shield.why + ")"
	}
	c.notes = append(c.notes, fmt.Sprintf("terminal.sandbox: %s is granted to the agent entry by entry, because %s: directly in it the agent can neither list, make, rename nor delete anything, "+
		"but it can use what is there. Give it a subfolder to work in, which has to be there when it starts", some(split), because))
}

// placeTemps decides what agents see in the place of the folders for temporary files that everybody
// uses.
func (c *Confinement) placeTemps() {
	if c.shield.space == noNamespace {
		return
	}
	info, err := os.Lstat(sharedMemory)
	c.shield.memory = err == nil && info.IsDir()
	g := c.grants()
	for _, path := range []string{"/tmp", "/var/tmp"} {
		temp, err := filepath.EvalSymlinks(path)
		if err != nil || slices.Contains(c.shield.mounts.Temps, temp) {
			continue
		}
		var needed []string
		for _, dir := range slices.Concat(g.write, g.read, []string{filepath.Dir(c.users())}) {
			if within(temp, dir) {
				needed = append(needed, dir)
			}
		}
		switch {
		case len(needed) == 0:
			c.shield.mounts.Temps = append(c.shield.mounts.Temps, temp)
		case c.o.Sandbox != Landlock: // with it, nothing else there is granted
			if c.shield.mounts.Cover == nil {
				c.shield.mounts.Cover = map[string][]string{}
			}
			slices.Sort(needed)
			c.shield.mounts.Cover[temp] = slices.Compact(needed)
		}
	}
}

// TempPath returns where a file is that an agent has written to a folder for temporary files. What
// it knows as /tmp may be its own.
func (c *Confinement) TempPath(chat Chat, path string) string {
	if c == nil || chat.Temp == "" {
		return path
	}
	path = filepath.Clean(path)
	for _, temp := range slices.Concat([]string{"/tmp", "/var/tmp"}, c.shield.mounts.Temps) {
		real, err := filepath.EvalSymlinks(temp)
		if err == nil && within(temp, path) && slices.Contains(c.shield.mounts.Temps, real) {
			return filepath.Join(chat.Temp, strings.TrimPrefix(path, temp))
		}
	}
	return path
}

// Covered reports whether the agent of a chat sees something else at a path, which is without
// links, than we do: a file there is not the one that it means, and may be anybody's.
func (c *Confinement) Covered(chat Chat, path string) bool {
	if c == nil || chat.Temp == "" || c.shield.space == noNamespace {
		return false
	}
	for temp, needed := range c.shield.mounts.Cover {
		if within(temp, path) && !withinAny(needed, path) {
			return true
		}
	}
	return withinAny(c.shield.mounts.Temps, path) || c.shield.memory && within(sharedMemory, path)
}

func withinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
}

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink > 1
}

// sameDisk reports whether a file could have a second name in a folder that the agent may write to.
func (g grants) sameDisk(file fs.FileInfo) bool {
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

// couldWrite reports whether the mode of a file lets the agent change it.
func (c *Confinement) couldWrite(path string) bool {
	if c.who == nil {
		return syscall.Access(path, 2) == nil
	}
	info, err := os.Stat(path)
	return err == nil && c.who.may(info, modebits.Write)
}
