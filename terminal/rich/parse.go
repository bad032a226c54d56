package rich

import (
	"bytes"
	"encoding/json"

	"nanobot/terminal"
)

// parsed is the parsed output of an agent.
type parsed struct {
	Frames []parsedFrame `json:"frames"`
	Text   string        `json:"text"` // the lines that are not frames
}

// parsedFrame is a frame, also of an unknown type.
type parsedFrame struct {
	Type    terminal.Kind   `json:"type"`
	ID      json.RawMessage `json:"id,omitempty"`
	Text    string          `json:"text"`
	Options []string        `json:"options,omitempty"`
	Secret  bool            `json:"secret,omitempty"`
	Media   []string        `json:"media,omitempty"`
	Silent  bool            `json:"silent,omitempty"`
	Buttons []string        `json:"buttons,omitempty"`
	Code    string          `json:"code,omitempty"`
	Level   string          `json:"level,omitempty"`
	*terminal.Usage
}

// parse parses an output as Turn does.
func parse(output, _ string) (object any, ok bool) {
	p := parsed{Frames: []parsedFrame{}}
	p.Text, _ = terminal.CollectLines(output, func(line []byte, end *terminal.FinalResponse) error {
		var f fields
		frame, ok := decode(line, &f)
		if !ok && isBadUsage(line) {
			return nil
		}
		if !ok {
			end.AddLine(line)
			return nil
		}
		read := parsedFrame{
			Type: frame.Kind, Text: terminal.Clean(frame.Text), Media: frame.Media, Silent: frame.Silent, Buttons: frame.Choices,
			Code: frame.Code, Level: frame.Level,
		}
		if frame.Kind == askKind {
			q := f.question()
			read.ID, read.Options, read.Secret = bytes.ToValidUTF8(q.raw, []byte("\uFFFD")), q.Options, q.Secret
		}
		if frame.Kind == usageKind {
			if u, mistake := f.usage(); mistake == "" {
				read.Usage = &u
			}
		}
		p.Frames = append(p.Frames, read)
		return nil
	}).PlainText()
	return p, true
}
