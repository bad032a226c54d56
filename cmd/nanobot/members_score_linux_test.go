package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// answerFiles returns how many files the answer to a question has.
func answerFiles(n int) int {
	switch n % 6 {
	case 0:
		return 3
	case 3:
		return 1
	}
	return 0
}

// countOpen returns how many questions have no answer.
func (s *cluster) countOpen() (n int) {
	for _, a := range s.accounts {
		n += a.asked - a.countAnswered()
	}
	return n
}

// findFaults returns what people, networks and agents have seen that must not be.
func (s *cluster) findFaults() (faults []string) {
	for _, a := range s.accounts {
		faults = append(faults, a.findFaults()...)
		for _, m := range a.messages() {
			var agent, folder string
			var n, files int
			text := strings.TrimPrefix(m.text, "↻ ")
			if _, err := fmt.Sscan(text, &agent, &n, &folder, &files); err == nil && a.url != "" &&
				(files != s.files[fmt.Sprint(agent, n)] || m.files != answerFiles(n)) {
				faults = append(faults, fmt.Sprintf("files got lost: the question has %d, the answer %q %d",
					s.files[fmt.Sprint(agent, n)], m.text, m.files))
			}
		}
		if a.receivers != nil {
			faults = append(faults, s.findReceivers(a)...)
		}
		overlaps, _ := os.ReadFile(filepath.Join(s.dir, "users", a.folder, "overlaps")) // there should be none
		for line := range strings.Lines(string(overlaps)) {
			if words := strings.Fields(line); !s.wasSuspended(words[len(words)-1]) {
				faults = append(faults, a.agent+": two agents ran at the same time: "+line)
			}
		}
	}
	return faults
}

// findReceivers returns the processes that have received on an account again after another one has
// begun to. One that was suspended may do so once when it continues, before it looks at its lease.
func (s *cluster) findReceivers(a *testAccount) (faults []string) {
	names := map[string]string{}
	s.mu.Lock()
	for _, r := range s.runs {
		names[r.address.String()] = r.name
	}
	s.mu.Unlock()
	all := a.receivers()
	for i, address := range slices.Compact(all) {
		if slices.Contains(all[:i], address) && !s.wasSuspended(names[address]) {
			faults = append(faults, fmt.Sprintf("%s: %s receives beside another member", a.agent, names[address]))
		}
	}
	return faults
}

// wasSuspended reports whether a process was suspended beyond its lease.
func (s *cluster) wasSuspended(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.runs, func(r *memberRun) bool { return r.name == name })
	return i >= 0 && s.runs[i].suspended.Load()
}
