package warm

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxWatched limits the files of each pattern.
const maxWatched = 10_000

// watchedFiles are the files from which an agent is started: those that the command names, and
// those of warm.watch. Their state is compared before each turn, so the command is parsed only
// once.
type watchedFiles struct {
	program  string   // the first word of the command if it is looked up in PATH; "": it is in files
	path     string   // the agent's PATH
	files    []string // the other words, as paths from the working folder
	patterns []string // of warm.watch, absolute
}

func newWatchedFiles(o Options) watchedFiles {
	w := watchedFiles{path: o.Path}
	for i, word := range commandWords(o.Command) {
		switch {
		case i == 0 && !strings.Contains(word, "/"):
			w.program = word
		case !slices.Contains(w.files, word):
			w.files = append(w.files, word)
		}
	}
	for _, pattern := range o.Watch {
		w.patterns = append(w.patterns, joinUnlessAbs(o.Workspace, pattern))
	}
	return w
}

// state returns the present state of the files of a command that runs in a folder.
func (w watchedFiles) state(dir string) string {
	var b []byte
	if w.program != "" {
		if path := lookupProgram(w.program, w.path); path != "" {
			b = appendState(b, path)
		}
	}
	for _, path := range w.files {
		b = appendState(b, joinUnlessAbs(dir, path))
	}
	for _, pattern := range w.patterns {
		for _, path := range filesMatching(pattern) {
			b = appendState(b, path)
		}
	}
	return string(b)
}

// outputFile matches a redirection to a file, which changes whenever the agent runs.
var outputFile = regexp.MustCompile(`>[>|]?\s*[^\s;|&<>()]+`)

// commandWords returns the words of a shell command, without its operators, quotes and output
// files, and the part after the = of words like --file=agent.py.
func commandWords(command string) (words []string) {
	command = outputFile.ReplaceAllString(command, " ")
	for _, word := range strings.FieldsFunc(command,
		func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()\"'`\\", r) }) {
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
		var s unix.Stat_t
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && unix.Stat(file, &s) == nil && isRegular(s) {
			return file
		}
	}
	return ""
}

func isRegular(s unix.Stat_t) bool { return s.Mode&unix.S_IFMT == unix.S_IFREG }

func joinUnlessAbs(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// appendState appends the path and the state of a file. A folder has none, and a missing file
// another one than any file. No path contains a NUL.
func appendState(b []byte, path string) []byte {
	var s unix.Stat_t // os.Stat makes garbage, for each missing file also an error
	switch err := unix.Stat(path, &s); {
	case err != nil:
		return append(append(b, path...), 0)
	case isRegular(s):
		b = append(append(b, path...), 0)
		b = strconv.AppendUint(b, s.Ino, 10)
		b = strconv.AppendInt(append(b, ' '), s.Size, 10)
		return append(strconv.AppendInt(append(b, ' '), s.Mtim.Nano(), 10), 0)
	}
	return b
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
