package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
)

// JSON prints one object a line: {"kind":…,"text":…,"media":[…],"code":…}.
type JSON struct{ Out io.Writer }

// Show prints one message at once.
func (p JSON) Show(o channels.Outgoing) error {
	line := struct {
		Kind  channels.Kind `json:"kind"`
		Text  string        `json:"text"`
		Media []string      `json:"media,omitempty"`
		Code  string        `json:"code,omitempty"`
	}{Kind: o.Kind, Text: o.Text, Code: o.Code}
	for _, f := range o.Media {
		line.Media = append(line.Media, place(f))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return err
	}
	_, err := p.Out.Write(b.Bytes())
	return err
}

// Text prints for people, where lines cannot be taken back: in a pipe or a file.
type Text struct {
	Out      io.Writer
	Progress io.Writer // where progress goes; it may be Out
}

// Show prints one message.
func (p Text) Show(o channels.Outgoing) error {
	w := p.Out
	if o.Kind == channels.Progress {
		w = p.Progress
	}
	_, err := io.WriteString(w, lines(channels.SanitizeBidiText(o.Text))+files(o))
	return err
}

// lines ends a text with one line break, unless it is empty.
func lines(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// files returns a line for each file of a message.
func files(o channels.Outgoing) string {
	var b strings.Builder
	for _, f := range o.Media {
		fmt.Fprintf(&b, "📎 %s (%s, %s)\n", printable(f), f.Kind, channels.HumanSize(f.Size))
	}
	return b.String()
}

// place is where a file is, or its name if it is nowhere on disk.
func place(f channels.File) string {
	if f.Path == "" {
		return f.Name
	}
	return f.Path
}

// printable is a file's place on one line: a name may hold anything, and a terminal obeys escapes.
func printable(f channels.File) string {
	name := place(f)
	// What is not graphic includes the C1 controls, which are escapes too, and marks that turn a
	// name's direction.
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }) {
		return fmt.Sprintf("%q", name)
	}
	return filepath.Clean(name)
}
