package confine

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

	"golang.org/x/sys/unix"
)

// enter makes the mounts in the namespace of its own that the helper was started in. It returns the
// paths that are not there.
func (m *mounts) enter() (gone []string, err error) {
	if m.Map != nil {
		if err := m.Map.write(); err != nil {
			return nil, fmt.Errorf("map users: %w", err)
		}
	}
	// Nothing of this is to be seen outside.
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
	if gone, err = m.shut(known); err != nil {
		return nil, err
	}
	if err := m.separate(known); err != nil {
		return nil, err
	}
	ownTerminals()
	// What we stand in may be below a mount now.
	return gone, os.Chdir(cwd)
}

// write tells the kernel who we are in our user namespace. The groups that we are in beside stay as
// they are.
func (i *ids) write() error {
	for _, f := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %[1]d 1", i.UID)},
		{"gid_map", fmt.Sprintf("%d %[1]d 1", i.GID)},
	} {
		if err := os.WriteFile("/proc/self/"+f.file, []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// shut pins, fixes and hides, from the top down, so that what is further down is mounted on what is
// there by then.
func (m *mounts) shut(known mountTable) (gone []string, err error) {
	do := map[string]func(string) error{}
	for _, path := range m.Pin {
		do[path] = pin
	}
	for _, path := range m.Fix {
		do[path] = fix
	}
	for _, path := range m.Hide {
		do[path] = hide
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

// separate empties the folder of the chats' folders and those of temporary files but for the chat's
// own.
func (m *mounts) separate(known mountTable) error {
	if m.Users != "" {
		for _, other := range known.aliases(m.Users) {
			if err := hide(other); err != nil {
				return fmt.Errorf("hide %s: %w", other, err)
			}
		}
		if err := only(m.Users, 0o755, []string{m.Chat}); err != nil {
			return fmt.Errorf("keep chats apart: %w", err)
		}
	}
	for _, temp := range m.Temps {
		tree, err := clone(m.Temp, false)
		if err == nil {
			err = attach(tree, temp)
		}
		if err != nil {
			return fmt.Errorf("give the chat its own %s: %w", temp, err)
		}
	}
	for temp, needed := range m.Cover {
		if err := only(temp, 0o777|fs.ModeSticky, needed); err != nil {
			return fmt.Errorf("give the agent its own %s: %w", temp, err)
		}
	}
	if m.Memory {
		return fill(sharedMemory, unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	}
	return nil
}

// stdin is our standard input, whatever its name is.
const stdin = "/proc/self/fd/0"

// ownTerminal returns the name of the terminal that we were started on, if that is so.
func ownTerminal() (name string, ok bool) {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return "", false
	}
	name, err := os.Readlink(stdin)
	return name, err == nil
}

// ownTerminals gives the agent pseudo-terminals of its own. Where that cannot be had, other agents
// of its user can open them.
func ownTerminals() {
	// The terminal that the agent runs on is not among them. It gets another name, as in a
	// container, because programs such as tmux ask for one.
	if name, ok := ownTerminal(); ok {
		if tree, err := clone(name, false); err == nil {
			defer func() { _ = attach(tree, "/dev/console") }()
		}
	}
	info, err := os.Lstat("/dev/ptmx")
	if err != nil || fill("/dev/pts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") != nil || info.Mode().Type() == fs.ModeSymlink {
		return
	}
	if tree, err := clone("/dev/pts/ptmx", false); err == nil {
		_ = attach(tree, "/dev/ptmx")
	}
}

// locate opens a path to mount something on. It follows no links, since an agent may have put one
// there.
func locate(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS})
}

// clone returns a mount of a path, with what is mounted below, that is nowhere yet.
func clone(path string, readOnly bool) (int, error) {
	at, err := locate(path)
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
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		_ = unix.Close(tree)
		return -1, os.NewSyscallError("mount_setattr", err)
	}
	return tree, nil
}

// attach mounts a clone on a path, and closes it.
func attach(tree int, path string) error {
	defer func() { _ = unix.Close(tree) }()
	at, err := locate(path)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	return os.NewSyscallError("move_mount", unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// pin mounts a folder on itself, because what is mounted on cannot be renamed nor removed.
func pin(path string) error { return remount(path, false) }

// fix makes a path read-only.
func fix(path string) error { return remount(path, true) }

func remount(path string, readOnly bool) error {
	tree, err := clone(path, readOnly)
	if err != nil {
		return err
	}
	return attach(tree, path)
}

// hide mounts nothing on a path: a folder that cannot be entered, or a file that is always empty.
func hide(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fill(path, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0000,size=4k")
	}
	tree, err := clone("/dev/null", false)
	if err != nil {
		return err
	}
	return attach(tree, path)
}

// fill mounts a new file system on a folder.
func fill(path string, flags uintptr, options string) error {
	at, err := locate(path)
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

// only empties a folder but for some folders and files below it.
func only(dir string, mode fs.FileMode, keep []string) error {
	var trees []int
	files := map[string]bool{}
	defer func() {
		for _, tree := range trees {
			_ = unix.Close(tree)
		}
	}()
	for _, path := range keep {
		tree, err := clone(path, false)
		if err != nil {
			return err
		}
		trees = append(trees, tree)
		info, err := os.Stat(path)
		files[path] = err == nil && !info.IsDir()
	}
	options := fmt.Sprintf("mode=0%o", mode.Perm())
	if mode&fs.ModeSticky != 0 {
		options = fmt.Sprintf("mode=01%o", mode.Perm())
	}
	if err := fill(dir, unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return err
	}
	for i, path := range keep {
		if err := makeTarget(path, files[path]); err != nil {
			return err
		}
		at, err := locate(path)
		if err != nil {
			return err
		}
		err = unix.MoveMount(trees[i], "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		_ = unix.Close(at)
		if err != nil {
			return os.NewSyscallError("move_mount", err)
		}
	}
	if mode&fs.ModeSticky != 0 {
		return nil
	}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// makeTarget makes an empty file or folder that something can be mounted on, unless there is one.
func makeTarget(path string, file bool) error {
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

// mountTable are the mounts that we found.
type mountTable []mountPoint

// mountPoint is a part of a file system and where it is seen.
type mountPoint struct{ device, root, at string }

func readMounts() (all mountTable, err error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	decode := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			all = append(all, mountPoint{f[2], decode.Replace(f[3]), decode.Replace(f[4])})
		}
	}
	return all, nil
}

// aliases returns the other paths by which a file or folder is seen, because a part of its file
// system is mounted more than once. Landlock's grants hold for these, too.
func (t mountTable) aliases(path string) (all []string) {
	var own *mountPoint
	for i, m := range t { // the last of the deepest is on top
		if within(m.at, path) && (own == nil || len(m.at) >= len(own.at)) {
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
		if &t[i] == own || m.device != own.device || !within(m.root, place) {
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
