// Package modebits checks from the owner, the group and the permission bits of a file whether a
// user may access it. A process with more rights than that user cannot ask the kernel. It knows
// nothing of access control lists and capabilities.
package modebits

import (
	"io/fs"
	"slices"
	"syscall"
)

// The permissions on a file or a folder.
const (
	Read   fs.FileMode = 0o4
	Write  fs.FileMode = 0o2
	Search fs.FileMode = 0o1 // for a file: execute
)

// Allow reports whether a user has all of the permissions. As in the kernel, only one class counts:
// an owner whom the owner bits deny access does not get it as a member of the group. The superuser
// may do everything. A nil user is the one of this process, whom the kernel checks.
func Allow(user *syscall.Credential, info fs.FileInfo, permissions fs.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case user == nil || user.Uid == 0:
		return true
	case !ok:
		return false
	case stat.Uid == user.Uid:
		permissions <<= 6
	case stat.Gid == user.Gid || slices.Contains(user.Groups, stat.Gid):
		permissions <<= 3
	}
	return info.Mode().Perm()&permissions == permissions
}

// AllowRemove reports whether a user may remove or rename an entry of a folder, or create one if
// entry is nil. In a folder with the sticky bit only the owner of the folder and the owner of the
// entry may remove it.
func AllowRemove(user *syscall.Credential, folder, entry fs.FileInfo) bool {
	if !Allow(user, folder, Write|Search) {
		return false
	}
	return user == nil || user.Uid == 0 || entry == nil || folder.Mode()&fs.ModeSticky == 0 || Owns(user, folder) ||
		Owns(user, entry)
}

// Owns reports whether a user owns a file. A nil user may own any.
func Owns(user *syscall.Credential, info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return user == nil || ok && stat.Uid == user.Uid
}
