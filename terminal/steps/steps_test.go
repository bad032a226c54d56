package steps_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/steps"
)

func TestTheEarliestDetailsAreLeftOut(t *testing.T) {
	var b steps.Board
	for i := range 200 {
		b.AddHeading("round")
		b.Add(&steps.Step{Kind: steps.Run, Title: fmt.Sprintf("step %d %s", i, strings.Repeat("x", 90)), Output: []string{"output"}})
	}
	sum := b.Sum(terminal.Fold{Files: 2})
	var omitted int
	if _, err := fmt.Sscanf(sum.Details, "… %d earlier steps\n", &omitted); err != nil || len(sum.Details) > 16<<10 || len(sum.Details) < 15<<10 {
		t.Fatalf("%d bytes begin with %.40q", len(sum.Details), sum.Details)
	}
	if got := strings.Count(sum.Details, "step "); got != 200-omitted || sum.Steps != 200 || sum.Files != 2 || !strings.HasSuffix(sum.Details, "│ `output`") {
		t.Errorf("%d steps, %d are left out: %+v", got, omitted, sum)
	}
}

func TestABoardIsEmittedOnlyIfItHasChanged(t *testing.T) {
	var texts []string
	b := steps.Board{Emit: func(f terminal.Frame) error {
		texts = append(texts, fmt.Sprintf("%d %s", f.Step, f.Text))
		if (f.Fold != nil) != strings.HasPrefix(f.Text, "💻 `make` ✗") {
			t.Errorf("%+v", f)
		}
		return nil
	}}
	show := func(activity ...string) {
		if err := b.Show(activity...); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Fold(terminal.Fold{}); err != nil || texts != nil {
		t.Fatal("a turn without steps is summed up", err, texts)
	}
	run := &steps.Step{Kind: steps.Run, Title: "`make`", State: steps.Running}
	b.Add(run)
	show("waiting")
	show("waiting")
	run.Output = steps.LastLines("one\n\n two \nthree\x1b[0m\nfour\n")
	show()
	run.State = steps.Failed
	b.AddRemark("It **fails**:\nsee below")
	if err := b.Fold(terminal.Fold{}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 💻 `make` …\nwaiting", "1 💻 `make` …\n│ `two`\n│ `three`\n│ `four`", "1 💻 `make` ✗\n│ `four`\n💬 It fails: see below",
	}
	if strings.Join(texts, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", texts)
	}
	if b.HasRemark("It **fails**:\nsee below") || !b.HasRemark("") {
		t.Error("a remark is not found")
	}
}
