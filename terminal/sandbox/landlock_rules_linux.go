package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"

	"nanobot/internal/nofollow"
)

// ruleBuilder collects the Landlock rules for landlockFiles.
type ruleBuilder struct {
	*landlockFiles
	protected                                  []os.FileInfo // hidden and read-only files, to recognize their hard links
	canRefer                                   bool
	readDirs, readFiles, writeDirs, writeFiles []string
}

func newRuleBuilder(f *landlockFiles) *ruleBuilder {
	r := &ruleBuilder{landlockFiles: f, canRefer: landlockABI() >= abiRefer}
	for _, path := range slices.Concat(f.Hide, f.ReadOnly) {
		if info, err := os.Lstat(path); err == nil {
			r.protected = append(r.protected, info)
		}
	}
	return r
}

// writableRule adds the right to move files between folders. Requesting it on a kernel without that
// right would make the whole ruleset fail.
func (r *ruleBuilder) writableRule(rule landlock.FSRule) landlock.FSRule {
	if r.canRefer {
		rule = rule.WithRefer()
	}
	return rule.IgnoreIfMissing()
}

// grantPath grants a configured path; the suffix ":ro" makes it read-only.
func (r *ruleBuilder) grantPath(path string) {
	path, readOnly := strings.CutSuffix(path, ":ro")
	r.addPath(path, readOnly)
}

// addPath grants a path except for hidden and read-only files below it. A folder that contains such
// files is granted entry by entry. Symbolic links are not granted; their targets are if they are
// below the path themselves.
func (r *ruleBuilder) addPath(path string, readOnly bool) {
	info, err := os.Lstat(path)
	own := slices.Contains(r.Own, path)
	switch {
	case err != nil: // there is nothing to grant
	case !own && withinAny(r.Hide, path):
	case slices.Contains(r.ReadOnly, path):
		r.addRule(path, info, true)
	case !own && slices.ContainsFunc(r.protected, func(s os.FileInfo) bool { return os.SameFile(s, info) }):
	case info.Mode().Type() == os.ModeSymlink:
	case !info.IsDir() || own || !r.containsProtected(path):
		r.addRule(path, info, readOnly)
	default:
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			r.addPath(filepath.Join(path, e.Name()), readOnly)
		}
	}
}

func (r *ruleBuilder) containsProtected(dir string) bool {
	return slices.ContainsFunc(slices.Concat(r.Hide, r.ReadOnly),
		func(path string) bool { return nofollow.Within(dir, path) })
}

func (r *ruleBuilder) addRule(path string, info os.FileInfo, readOnly bool) {
	switch {
	case readOnly && info.IsDir():
		r.readDirs = append(r.readDirs, path)
	case readOnly:
		r.readFiles = append(r.readFiles, path)
	case info.IsDir():
		r.writeDirs = append(r.writeDirs, path)
	default:
		r.writeFiles = append(r.writeFiles, path)
	}
}
