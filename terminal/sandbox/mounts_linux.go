package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"nanobot/internal/nofollow"
)

// apply makes the mounts in the helper's own mount namespace. It returns the paths to protect that
// do not exist.
func (m *mounts) apply() (gone []string, err error) {
	if m.Map != nil {
		if err := writeIDMaps(m.Map); err != nil {
			return nil, fmt.Errorf("map users: %w", err)
		}
	}
	// Our mounts must not propagate to other namespaces.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return nil, fmt.Errorf("make mounts our own: %w", err)
	}
	known, err := readMounts()
	if err != nil {
		return nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if gone, err = m.protectPaths(known); err != nil {
		return nil, err
	}
	if err := m.isolateChat(known); err != nil {
		return nil, err
	}
	mountPrivatePTYs()
	// The working folder may be below a new mount.
	return gone, os.Chdir(cwd)
}

// writeIDMaps writes the ID maps of our user namespace. Supplementary groups stay as they are.
func writeIDMaps(user *syscall.Credential) error {
	for _, f := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %[1]d 1", user.Uid)},
		{"gid_map", fmt.Sprintf("%d %[1]d 1", user.Gid)},
	} {
		if err := os.WriteFile("/proc/self/"+f.file, []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// protectPaths pins, write-protects and hides paths in lexical order, so that mounts on parents
// come before mounts on what is below them.
func (m *mounts) protectPaths(known mountTable) (gone []string, err error) {
	do := map[string]func(string) error{}
	for _, path := range m.Pin {
		do[path] = pinPath
	}
	for _, path := range m.ReadOnly {
		do[path] = makeReadOnly
	}
	for _, path := range m.Hide {
		do[path] = hidePath
	}
	for path, f := range maps.Clone(do) {
		for _, other := range known.aliases(path) {
			do[other] = f
		}
	}
	for _, path := range slices.Sorted(maps.Keys(do)) {
		switch err := do[path](path); {
		case errors.Is(err, fs.ErrNotExist):
			gone = append(gone, path)
		case err != nil:
			return nil, fmt.Errorf("keep %s from the agent: %w", path, err)
		}
	}
	return gone, nil
}

// isolateChat hides the folders of other chats and replaces shared temporary folders by those of
// the chat.
func (m *mounts) isolateChat(known mountTable) error {
	if m.Users != "" {
		for _, other := range known.aliases(m.Users) {
			if err := hidePath(other); err != nil {
				return fmt.Errorf("hide %s: %w", other, err)
			}
		}
		if err := mountEmptyExcept(m.Users, 0o755, []string{m.Chat}); err != nil {
			return fmt.Errorf("keep chats apart: %w", err)
		}
	}
	for _, temp := range m.Temps {
		tree, err := cloneMount(m.Temp, false)
		if err == nil {
			err = attachMount(tree, temp)
		}
		if err != nil {
			return fmt.Errorf("give the chat its own %s: %w", temp, err)
		}
	}
	for dir, needed := range m.Cover {
		for _, other := range known.aliases(dir) {
			if slices.ContainsFunc(needed, func(path string) bool { return nofollow.Within(other, path) }) {
				continue
			}
			if err := hidePath(other); err != nil {
				return fmt.Errorf("hide %s: %w", other, err)
			}
		}
		if err := mountEmptyExcept(dir, 0o777|fs.ModeSticky, needed); err != nil {
			return fmt.Errorf("give the agent its own %s: %w", dir, err)
		}
	}
	if m.Memory {
		return mountNew(sharedMemory, unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	}
	return nil
}

// stdin is a path to our standard input.
const stdin = "/proc/self/fd/0"

// stdinTerminal returns the path of the terminal on stdin, if stdin is a terminal.
func stdinTerminal() (name string, ok bool) {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return "", false
	}
	name, err := os.Readlink(stdin)
	return name, err == nil
}

// mountPrivatePTYs mounts an own instance of devpts. If that is not possible, other agents of the
// same user can open the agent's pseudo-terminals.
func mountPrivatePTYs() {
	// The agent's own terminal belongs to the old instance. It is mounted on /dev/console, as in a
	// container, because programs such as tmux need its name.
	if name, ok := stdinTerminal(); ok {
		if tree, err := cloneMount(name, false); err == nil {
			defer func() { _ = attachMount(tree, "/dev/console") }()
		}
	}
	info, err := os.Lstat("/dev/ptmx")
	if err != nil || mountNew("/dev/pts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") != nil ||
		info.Mode().Type() == fs.ModeSymlink {
		return
	}
	if tree, err := cloneMount("/dev/pts/ptmx", false); err == nil {
		_ = attachMount(tree, "/dev/ptmx")
	}
}

// openMountPoint opens a path for mounting. It follows no symbolic links, since an agent may have
// created one.
func openMountPoint(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// cloneMount returns a detached copy of the mounts at and below a path.
func cloneMount(path string, readOnly bool) (int, error) {
	at, err := openMountPoint(path)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(at) }()
	tree, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, os.NewSyscallError("open_tree", err)
	}
	if !readOnly {
		return tree, nil
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		_ = unix.Close(tree)
		return -1, os.NewSyscallError("mount_setattr", err)
	}
	return tree, nil
}

// attachMount mounts a detached copy on a path and closes the copy.
func attachMount(tree int, path string) error {
	defer func() { _ = unix.Close(tree) }()
	at, err := openMountPoint(path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return os.NewSyscallError("move_mount",
		unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// pinPath mounts a folder on itself, because a mount point cannot be renamed or removed.
func pinPath(path string) error { return bindOnItself(path, false) }

// makeReadOnly mounts a path on itself, read-only.
func makeReadOnly(path string) error { return bindOnItself(path, true) }

func bindOnItself(path string, readOnly bool) error {
	tree, err := cloneMount(path, readOnly)
	if err != nil {
		return err
	}
	return attachMount(tree, path)
}

// hidePath mounts an inaccessible folder on a folder, or /dev/null on a file.
func hidePath(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return mountNew(path, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0000,size=4k")
	}
	tree, err := cloneMount("/dev/null", false)
	if err != nil {
		return err
	}
	return attachMount(tree, path)
}

// mountNew mounts a new tmpfs or devpts on a folder.
func mountNew(path string, flags uintptr, options string) error {
	at, err := openMountPoint(path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	kind := "tmpfs"
	if path == "/dev/pts" {
		kind = "devpts"
	}
	return os.NewSyscallError("mount "+kind, unix.Mount(kind, "/proc/self/fd/"+strconv.Itoa(at), kind, flags, options))
}

// mountEmptyExcept mounts an empty tmpfs on a folder and keeps those of some files, folders and
// symbolic links below it visible that exist.
func mountEmptyExcept(dir string, mode fs.FileMode, keep []string) error {
	var trees []int
	files := map[string]bool{}
	defer func() {
		for _, tree := range trees { // those that are not attached
			_ = unix.Close(tree)
		}
	}()
	links := map[string]string{}
	var found []string
	for _, path := range keep {
		if target, err := os.Readlink(path); err == nil {
			links[path] = target
			continue
		}
		tree, err := cloneMount(path, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		trees, found = append(trees, tree), append(found, path)
		info, err := os.Stat(path)
		files[path] = err == nil && !info.IsDir()
	}
	options := fmt.Sprintf("mode=0%o", mode.Perm())
	if mode&fs.ModeSticky != 0 {
		options = fmt.Sprintf("mode=01%o", mode.Perm())
	}
	if err := mountNew(dir, unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return err
	}
	for path, target := range links {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			return err
		}
	}
	for i, path := range found {
		if err := createMountPoint(path, files[path]); err != nil {
			return err
		}
		tree := trees[i]
		trees[i] = -1 // attachMount closes it
		if err := attachMount(tree, path); err != nil {
			return err
		}
	}
	if mode&fs.ModeSticky != 0 {
		return nil
	}
	return os.NewSyscallError("mount_setattr",
		unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// createMountPoint creates an empty file or folder to mount on, unless it exists.
func createMountPoint(path string, file bool) error {
	if !file {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// mountTable is the content of /proc/self/mountinfo.
type mountTable []mountPoint

// mountPoint is a subtree (root) of a file system (device) of some kind and the path at which it is
// mounted.
type mountPoint struct{ device, root, at, kind string }

func readMounts() (all mountTable, err error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	decode := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			_, rest, _ := strings.Cut(line, " - ")
			kind, _, _ := strings.Cut(rest, " ")
			all = append(all, mountPoint{f[2], decode.Replace(f[3]), decode.Replace(f[4]), kind})
		}
	}
	return all, nil
}

// aliases returns the other paths of a file or folder whose file system is mounted more than once.
// Landlock grants apply to them, too.
func (t mountTable) aliases(path string) (all []string) {
	var own *mountPoint
	for i, m := range t { // of several mounts on the deepest mount point, the last is visible
		if nofollow.Within(m.at, path) && (own == nil || len(m.at) >= len(own.at)) {
			own = &t[i]
		}
	}
	info, err := os.Lstat(path)
	if own == nil || err != nil {
		return nil
	}
	rel, err := filepath.Rel(own.at, path)
	if err != nil {
		return nil
	}
	place := filepath.Join(own.root, rel)
	for i, m := range t {
		if &t[i] == own || m.device != own.device || !nofollow.Within(m.root, place) {
			continue
		}
		rel, err := filepath.Rel(m.root, place)
		if err != nil {
			continue
		}
		alias := filepath.Join(m.at, rel)
		if other, err := os.Lstat(alias); err == nil && alias != path && os.SameFile(info, other) {
			all = append(all, alias)
		}
	}
	return all
}
