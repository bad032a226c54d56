package metrics

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// resident returns the memory in bytes of the processes in some sessions. What is gone, or this system does not tell of, counts as nothing. An
// agent leads a session of its own, so that its shell's children are in it, unless they made one themselves.
func resident(sessions []int) int64 {
	if len(sessions) == 0 {
		return 0
	}
	var pages int64
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	for _, path := range stats {
		if session, rss := stat(path); slices.Contains(sessions, session) {
			pages += rss
		}
	}
	return pages * int64(os.Getpagesize())
}

// stat reads the session of a process, and how many pages it has in memory. Before its numbers stands its name, in parentheses: it may hold
// anything, parentheses too.
func stat(path string) (session int, rss int64) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 22 {
		return 0, 0
	}
	session, _ = strconv.Atoi(string(fields[3]))
	rss, _ = strconv.ParseInt(string(fields[21]), 10, 64)
	return session, rss
}
