package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"
)

// maxHistory is how many lines the history has.
const maxHistory = 500

// History stores typed lines in a file. The editor reads them newest first.
type History struct {
	path  string
	lines []string
}

var _ term.History = (*History)(nil)

// OpenHistory reads the file if it exists. Errors of reading and writing are ignored, and the lines
// are then missing.
func OpenHistory(path string) *History {
	h := &History{path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	h.lines = slices.Collect(strings.FieldsFuncSeq(string(b), func(r rune) bool { return r == '\n' }))
	if n := len(h.lines); n > maxHistory {
		h.lines = h.lines[n-maxHistory:]
		h.rewrite()
	}
	slices.Reverse(h.lines)
	return h
}

// rewrite replaces the file atomically by the current lines.
func (h *History) rewrite() {
	part := h.path + ".new"
	if os.WriteFile(part, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600) != nil || os.Rename(part, h.path) != nil {
		_ = os.Remove(part)
	}
}

// Add adds a line, unless it is blank or equal to the last one.
func (h *History) Add(entry string) {
	if strings.TrimSpace(entry) == "" || strings.Contains(entry, "\n") || len(h.lines) > 0 && h.lines[0] == entry {
		return
	}
	h.lines = slices.Insert(h.lines, 0, entry)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[:maxHistory]
	}
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	fmt.Fprintln(f, entry)
	f.Close()
}

// Len returns the number of lines.
func (h *History) Len() int { return len(h.lines) }

// At returns a line; 0 is the newest.
func (h *History) At(i int) string { return h.lines[i] }
