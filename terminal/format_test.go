package terminal_test

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// The folders of testdata/outputs are named after the formats that their outputs should have.
func TestOutputsOfRealProgramsGetTheFormatInWhichTheyLookRight(t *testing.T) {
	t.Parallel()
	files := musttest.Get(filepath.Glob("testdata/outputs/*/*.txt"))(t)
	if len(files) < 30 {
		t.Fatalf("there are only %d outputs", len(files))
	}
	names := map[terminal.Format]string{terminal.FormatMarkdown: "markdown", terminal.FormatText: "text", terminal.FormatCode: "code"}
	for _, file := range files {
		output := musttest.Get(os.ReadFile(file))(t)
		wanttest.Equal(t, file+": is shown as", names[terminal.DetectFormat(string(output))], filepath.Base(filepath.Dir(file)))
	}
}
