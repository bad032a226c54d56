package terminal

import (
	"slices"
	"strings"

	"nanobot/internal/words"
)

// maxFoldDetails limits the details of a Fold, in bytes.
const maxFoldDetails = 16 << 10

// maxEarlierSteps is the room for the line of EarlierSteps, in bytes.
const maxEarlierSteps = 100

// FoldDetails collects the details of a Fold. The earliest are left out if there are too many. The
// zero value is ready to use.
type FoldDetails struct {
	parts   []foldPart
	size    int
	omitted int // steps
}

type foldPart struct {
	text  string
	steps int
}

// Add adds one or more lines that are about a number of steps.
func (d *FoldDetails) Add(text string, steps int) {
	d.parts = append(d.parts, foldPart{text, steps})
	for d.size += len(text) + 1; d.size > maxFoldDetails-maxEarlierSteps && len(d.parts) > 0; {
		d.size -= len(d.parts[0].text) + 1
		d.omitted += d.parts[0].steps
		d.parts = slices.Delete(d.parts, 0, 1)
	}
}

// EarlierSteps returns the line that stands for steps which are not shown.
func EarlierSteps(w words.Words, n int) string { return "… " + w.Text(words.EarlierSteps, n) }

// Text returns the details.
func (d *FoldDetails) Text(w words.Words) string {
	var lines []string
	if d.omitted > 0 {
		lines = append(lines, EarlierSteps(w, d.omitted))
	}
	for _, p := range d.parts {
		lines = append(lines, p.text)
	}
	return strings.Join(lines, "\n")
}
