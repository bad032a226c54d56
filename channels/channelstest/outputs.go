package channelstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

// CheckOutputs plans the outputs of real programs, in the formats in which agents that print them
// are shown, and compares the plans with the golden file testdata/outputs.txt of the channel. After
// the name of each output it has the text of each part, and what else the part has.
func CheckOutputs(t *testing.T, ro RenderingOptions) {
	t.Helper()
	folder := filepath.Join("..", "..", "terminal", "testdata", "outputs")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no outputs: %v", err)
	}
	formats := map[string]channels.Format{"markdown": channels.Markdown, "text": channels.Literal, "code": channels.Code}
	var all strings.Builder
	for _, file := range files {
		output := musttest.Get(os.ReadFile(file))(t)
		format := filepath.Base(filepath.Dir(file))
		m := inFormat(formats[format], strings.TrimRight(string(output), "\n"))
		m.Chat = ro.Chat
		plan, err := ro.Channel.Plan(m)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all.WriteString("======== " + format + "/" + strings.TrimSuffix(filepath.Base(file), ".txt") + "\n")
		for _, o := range plan {
			text := o.Text
			if ro.Shown != nil {
				text = ro.Shown(o)
			}
			all.WriteString(strings.TrimRight(text, "\n") + "\n")
			if ro.Shown == nil && len(o.Form) > 0 {
				all.WriteString("-------- " + string(o.Form) + "\n")
			}
		}
	}
	ro.compare(t, "the outputs", filepath.Join("testdata", "outputs.txt"), escapeInvisible(all.String()))
}
