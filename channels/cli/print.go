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
	"nanobot/internal/words"
)

// JSONPrinter prints one object per line:
// {"kind":…,"text":…,"media":[…],"buttons":[…],"code":…}.
type JSONPrinter struct{ Out io.Writer }

// Show prints a message.
func (p JSONPrinter) Show(o channels.Outgoing) error {
	line := struct {
		Kind    channels.Kind `json:"kind"`
		Text    string        `json:"text"`
		Media   []string      `json:"media,omitempty"`
		Buttons []string      `json:"buttons,omitempty"`
		Code    string        `json:"code,omitempty"`
	}{Kind: o.Kind, Text: o.Text, Buttons: buttonLabels(o), Code: o.Code}
	for _, f := range o.Media {
		line.Media = append(line.Media, pathOrName(f))
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

// TextPrinter prints for people where lines cannot be erased, such as in a pipe or a file.
type TextPrinter struct {
	Out      io.Writer
	Progress io.Writer // may be Out
	Words    words.Words
}

// Show prints a message.
func (p TextPrinter) Show(o channels.Outgoing) error {
	w := p.Out
	if o.Kind == channels.Progress {
		w = p.Progress
	}
	_, err := io.WriteString(w, endLine(channels.SanitizeBidiText(o.Text))+fileLines(o, p.Words)+buttonLines(o))
	return err
}

// endLine ends a text with exactly one line break, unless it is empty.
func endLine(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// kindNames are the texts of the kinds of files.
var kindNames = map[channels.MediaKind]words.Key{
	channels.Image: words.KindImage, channels.Video: words.KindVideo, channels.Audio: words.KindAudio,
	channels.Document: words.KindDocument,
}

// fileLines returns a line for each file of a message.
func fileLines(o channels.Outgoing, w words.Words) string {
	var b strings.Builder
	for _, f := range o.Media {
		fmt.Fprintf(&b, "📎 %s (%s, %s)\n", printablePath(f), w.Text(kindNames[f.Kind]), channels.HumanSize(f.Size))
	}
	return b.String()
}

// buttonLabels returns the labels of a message's buttons.
func buttonLabels(o channels.Outgoing) (labels []string) {
	for _, b := range o.Buttons {
		labels = append(labels, b.Label)
	}
	return labels
}

// buttonLines returns a numbered line for each button of a message.
func buttonLines(o channels.Outgoing) string {
	var b strings.Builder
	for i, label := range buttonLabels(o) {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, channels.SanitizeBidiText(label))
	}
	return b.String()
}

// pathOrName returns the path of a file, or its name if it is not on disk.
func pathOrName(f channels.File) string {
	if f.Path == "" {
		return f.Name
	}
	return f.Path
}

// printablePath returns a file's path, quoted if it has characters that a terminal would interpret.
func printablePath(f channels.File) string {
	name := pathOrName(f)
	// Characters that are not graphic include C1 controls, which also start escape sequences, and
	// bidi controls.
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }) {
		return fmt.Sprintf("%q", name)
	}
	return filepath.Clean(name)
}
