package rich_test

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/rich"
)

func TestAProgressTextIsAStepIfMoreThanItsDigitsAreNew(t *testing.T) {
	command := `printf '{"type":"progress","text":"%s"}\n' "7" "Downloading 9 %" "Downloading  37 %" "Downloading 100 %" "" "Unpacking 1 of 2" "Unpacking 2 of 2" "Done"`
	r, err := terminal.NewRunner(terminal.Options{
		Config:    config.Terminal{Command: command, Shell: "/bin/sh", MaxLine: 1 << 20, Timeout: 60, MaxOutput: 1 << 20},
		Workspace: t.TempDir(), Protocol: rich.Protocol{}, Log: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var steps []int
	_, err = r.Turn(context.Background(), terminal.Request{Envelope: terminal.Envelope{Channel: "cli", ChatID: "a", RunID: "1", Attempt: 1}}, protocoltest.Frames(func(f terminal.Frame) error {
		if f.Kind == terminal.Progress {
			steps = append(steps, f.Step)
		}
		return nil
	}))
	if want := []int{1, 2, 2, 2, 3, 3, 4}; err != nil || !slices.Equal(steps, want) {
		t.Errorf("the steps are %v, want %v (%v)", steps, want, err)
	}
}
