package gateway_test

import (
	"strings"
	"testing"
)

func TestTheProgressOfAToolIsShownBelowTheChecklistOfARun(t *testing.T) {
	t.Parallel()
	const book = "# Look\n\n## First\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"true\"}}}\n```\n## Second\n\nLook at it.\n"
	r := newRunbookFixture(t, "touch begun; "+waitForFileScript("go"), map[string]string{"look": book})
	r.start()
	r.net.UserWrites("1", "ann", "/run look")
	r.awaitFile("begun")
	c := r.connectTools()
	if got := c.callForJSON("progress", map[string]any{"text": "counting sheep"}); !strings.Contains(got, `"shown":true`) {
		t.Fatalf("the agent was told %s", got)
	}
	board := r.awaitText("1", "counting sheep")
	if !strings.Contains(board.Text, "✅ 1. First\n") || strings.Index(board.Text, "2. Second") > strings.Index(board.Text, "counting sheep") {
		t.Errorf("the board is %q", board.Text)
	}
	r.touchFile("go")
	r.awaitReport("1", "The run is complete.")
}
