package media

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// gitHead is the file that makes its folder a Git repository, whatever the folder's name is.
const gitHead = "HEAD"

// protectedNames are files and folders that a person's tools execute, or that name what they
// execute. docs/security.md has the same list.
var protectedNames = []string{
	".git", "git~1", gitHead, ".gitconfig", ".config/git", ".hg", ".hgrc", ".husky", // git~1 is .git on FAT and NTFS
	".vscode", ".idea", ".devcontainer", ".devcontainer.json", ".envrc",
	".profile", ".login", ".logout", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".z*.zwc", // .zwc is compiled and read first
	".kshrc", ".mkshrc", ".shrc", ".cshrc", ".tcshrc", ".config/fish", ".xprofile", ".xsession", ".xsessionrc",
}

// Protected are patterns of files that an agent may change only if a person agrees to the
// change, in addition to protectedNames. A pattern is a name or a relative path for path.Match. It
// applies at any depth, to a file or to a folder with all its files.
type Protected []string

// Contain reports whether a file below root is protected. paths are the file itself and the
// symbolic links that lead to it, absolute and in folders without links.
func (p Protected) Contain(root string, paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		in, rel := root, strings.TrimPrefix(path, strings.TrimSuffix(root, "/")+"/")
		if rel == path { // such as a link in another folder that the agent may use
			in, rel = "/", strings.TrimPrefix(path, "/")
		}
		return p.match(rel) || isInGitFolder(in, rel)
	})
}

// match reports whether a part of a path matches a pattern.
func (p Protected) match(rel string) bool {
	parts := strings.Split(foldName(rel), "/")
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, ". ") // some file systems ignore them
	}
	for _, pattern := range slices.Concat(protectedNames, p) {
		pattern = strings.TrimSuffix(foldName(pattern), "/")
		more := strings.Count(pattern, "/")
		for i := range len(parts) - more {
			if ok, _ := path.Match(pattern, strings.Join(parts[i:i+more+1], "/")); ok {
				return true
			}
		}
	}
	return false
}

// foldName maps all names that a file system may take for the same one to one name. File systems
// ignore case (also of ligatures) and invisible characters; other similar characters do no harm.
func foldName(name string) string {
	visible := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, name)
	return strings.ToLower(norm.NFKC.String(visible))
}

// isInGitFolder reports whether a file is in a Git repository whose folder has another name than
// .git, such as a bare repository.
func isInGitFolder(root, rel string) bool {
	for ; rel != "."; rel = filepath.Dir(rel) {
		if _, err := os.Lstat(filepath.Join(root, filepath.Dir(rel), gitHead)); err == nil {
			return true
		}
	}
	return false
}
