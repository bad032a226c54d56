package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/internal/words"
	"nanobot/terminal"
)

func TestTheEarliestDetailsAreLeftOut(t *testing.T) {
	var d terminal.FoldDetails
	for i := range 1000 {
		d.Add(fmt.Sprintf("step %d %s", i, strings.Repeat("x", 90)), 1)
		d.Add("│ `output`", 0)
	}
	text := d.Text(words.Words{})
	var omitted int
	if _, err := fmt.Sscanf(text, "… %d earlier steps\n", &omitted); err != nil || len(text) > 16<<10 || len(text) < 15<<10 {
		t.Fatalf("%d bytes begin with %.40q", len(text), text)
	}
	if got := strings.Count(text, "step "); got != 1000-omitted || !strings.HasSuffix(text, "│ `output`") {
		t.Errorf("%d steps, %d are left out", got, omitted)
	}
}
