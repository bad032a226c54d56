package blocks

import (
	"fmt"
	"slices"

	"nanobot/terminal"
)

const (
	earlierHeading = "## Earlier Rounds"
	// earlierCut stands in place of the oldest lines.
	earlierCut = "(older rounds are left out)"
	// maxEarlier limits the bytes of the section, maxEarlierLine the characters of a result in it.
	maxEarlier, maxEarlierLine = 4 << 10, 200
)

// summarizeRound adds the results of the last round to those of earlier rounds, before the results
// of the next one replace them.
func (s *session) summarizeRound() {
	add := func(text string) {
		s.Earlier = append(s.Earlier, fmt.Sprintf("Round %d: %s", s.Sequence-1, terminal.OneLine(text, maxEarlierLine)))
	}
	for _, path := range s.RequestedFiles {
		add(fmt.Sprintf("[OK] %s: Read '%s'", ReadFile, path))
	}
	for _, r := range s.Results {
		if r.Type != ReadFile || !r.Success { // those are the requested files
			add(r.line())
		}
	}
	left := maxEarlier - len(earlierHeading) - len(earlierCut) - len("\n\n")
	for i, line := range slices.Backward(s.Earlier) {
		if left -= len(line) + len("\n"); left < 0 {
			s.Earlier = append([]string{earlierCut}, s.Earlier[i+1:]...)
			return
		}
	}
}
