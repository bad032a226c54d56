package plain

import (
	"cmp"

	"nanobot/terminal"
)

// parsed is the parsed output of an agent.
type parsed struct {
	Text  string   `json:"text"`
	Media []string `json:"media"` // paths in the text, whether or not the files exist
	// Format is how the text is shown if terminal.format is auto.
	Format string `json:"format"`
}

// parse parses an output as Turn does.
func parse(output, _ string) (object any, ok bool) {
	p := parsed{Media: []string{}}
	var media []string
	p.Text, media = terminal.CollectLines(output, func(line []byte, end *terminal.FinalResponse) error {
		end.AddLine(line)
		return nil
	}).PlainText()
	p.Media = append(p.Media, media...)
	p.Format = cmp.Or(string(terminal.DetectFormat(p.Text)), terminal.FormatSettingMarkdown)
	return p, true
}
