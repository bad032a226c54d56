package terminal

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// maxWatched limits the files of each pattern.
const maxWatched = 10_000

// watchedFiles returns the state of the files from which the agent was started: those that the
// command names, and those of warm.watch.
func (r *Runner) watchedFiles() string {
	var b strings.Builder
	for i, word := range commandWords(r.o.Config.Command) {
		if i == 0 && !strings.Contains(word, "/") {
			word = lookupProgram(word, lookupEnv(r.env, "PATH"))
		}
		if word != "" {
			addState(&b, joinUnlessAbs(r.workDir(), word))
		}
	}
	for _, pattern := range r.o.Config.Warm.Watch {
		for _, path := range filesMatching(joinUnlessAbs(r.o.Workspace, pattern)) {
			addState(&b, path)
		}
	}
	return b.String()
}

// outputFile matches a redirection to a file, which changes whenever the agent runs.
var outputFile = regexp.MustCompile(`>[>|]?\s*[^\s;|&<>()]+`)

// commandWords returns the words of a shell command, without its operators, quotes and output
// files, and the part after the = of words like --file=agent.py.
func commandWords(command string) (words []string) {
	command = outputFile.ReplaceAllString(command, " ")
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()\"'`\\", r) }) {
		words = append(words, word)
		if _, value, ok := strings.Cut(word, "="); ok && value != "" {
			words = append(words, value)
		}
	}
	return words
}

// lookupProgram returns the file of a program in a PATH, or "".
func lookupProgram(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && isRegular(file) {
			return file
		}
	}
	return ""
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func joinUnlessAbs(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// addState adds the path and the state of a file. A folder has none, and a missing file another one
// than any file.
func addState(b *strings.Builder, path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		fmt.Fprintf(b, "%q\n", path)
	case info.Mode().IsRegular():
		var inode uint64
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			inode = s.Ino
		}
		fmt.Fprintf(b, "%q %d %d %d\n", path, inode, info.Size(), info.ModTime().UnixNano())
	}
}

// filesMatching returns the files of a pattern, in which ** stands for any number of folders.
func filesMatching(pattern string) (files []string) {
	above, below, deep := strings.Cut(pattern, "**")
	if !deep {
		files, _ = filepath.Glob(pattern) // the pattern was checked with the config
		return files[:min(len(files), maxWatched)]
	}
	below = strings.TrimPrefix(below, "/")
	_ = filepath.WalkDir(filepath.Clean(above), func(path string, d fs.DirEntry, err error) error {
		if len(files) == maxWatched {
			return fs.SkipAll
		}
		if err == nil && !d.IsDir() && (below == "" || matchesTail(below, path)) { // what cannot be read has no state
			files = append(files, path)
		}
		return nil
	})
	return files
}

// matchesTail reports whether the last parts of a path match a pattern.
func matchesTail(pattern, path string) bool {
	parts, n := strings.Split(path, "/"), strings.Count(pattern, "/")+1
	if len(parts) < n {
		return false
	}
	ok, _ := filepath.Match(pattern, strings.Join(parts[len(parts)-n:], "/"))
	return ok
}
