package plain

import "nanobot/terminal"

// parsed is the parsed output of an agent.
type parsed struct {
	Text  string   `json:"text"`
	Media []string `json:"media"` // paths in the text, whether or not the files exist
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
	return p, true
}
