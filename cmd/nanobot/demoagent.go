package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/terminal"
)

// newDemoAgent is the built-in micro-agents: an ordinary rich agent that happens to live in this
// binary. The first word of a message says which of them is meant.
func newDemoAgent(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:    "demo-agent",
		Short:  "Be the demo agent: an envelope on stdin, frames on stdout",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			d := demoAgent{std: std, in: json.NewDecoder(std.in), out: json.NewEncoder(std.out), pace: 400 * time.Millisecond}
			if err := d.in.Decode(&d.envelope); err != nil {
				return fmt.Errorf("read envelope: %w", err)
			}
			return d.answer()
		},
	}
}

type demoAgent struct {
	envelope terminal.Envelope
	std      stdio
	in       *json.Decoder
	out      *json.Encoder
	pace     time.Duration // between steps, so that a person can watch
}

type demoFrame struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Media   []string `json:"media,omitempty"`
	Code    string   `json:"code,omitempty"`
	Level   string   `json:"level,omitempty"`
	ID      string   `json:"id,omitempty"`
	Options []string `json:"options,omitempty"`
}

func (d demoAgent) say(f demoFrame) { _ = d.out.Encode(f) }

func (d demoAgent) progress(format string, args ...any) {
	d.say(demoFrame{Type: "progress", Text: fmt.Sprintf(format, args...)})
	time.Sleep(d.pace)
}

func (d demoAgent) answer() error {
	word := ""
	if words := strings.Fields(strings.ToLower(d.envelope.Text)); len(words) > 0 {
		word = strings.Trim(words[0], ".!/")
	}
	if folder := demoExamples[word]; folder != "" {
		return d.example(folder)
	}
	switch word {
	case "album":
		return d.album()
	case "fail":
		d.progress("Trying something that cannot work…")
		d.say(demoFrame{Type: "error", Text: "this is what an error frame looks like", Code: "DEMO"})
		return exit.Error{Status: exit.Failed}
	case "slow":
		for i := range 60 {
			d.progress("Working, step %d of 60 (stop me with /stop, the button or Ctrl-C)", i+1)
			d.say(demoFrame{Type: "log", Level: "info", Text: fmt.Sprintf("step %d is done", i+1)})
		}
		d.say(demoFrame{Type: "message", Text: "Done at last."})
	case "ask":
		d.ask()
	case "markdown":
		d.say(demoFrame{Type: "message", Text: demoMarkdown})
	case "help":
		d.say(demoFrame{Type: "message", Text: demoHelp})
	default:
		d.repeat()
	}
	return nil
}

// demoHelp is what there is to see.
const demoHelp = `These agents are here. Say

- **album**: three pictures, made here and now
- **slow**: something to stop
- **ask**: a question with buttons
- **markdown**: what an answer can look like
- **fail**: an error
- anything else, also with files: it is repeated, with a word of progress before

They are one program, the nanobot binary itself, which speaks the rich protocol. These are a few lines of Python each; say their name, and behind
it what you have to say:

- **minimal** hello: the quick start of the protocol
- **stateful** hello: it remembers the chat
- **image** a lighthouse at night: it paints
- **analyzer** if x == None: some messages, and a file
- **user-images**, with a picture: it takes out what is hidden in it
- **errors** 1 / 0: a calculator that fails well`

const demoMarkdown = "# An answer\n\n*Markdown* becomes what the chat has: **bold**, ~~struck~~, `code`, [links](https://example.com).\n\n" +
	"| language | lines for an agent |\n| --- | ---: |\n| Python | 5 |\n| shell | 3 |\n\n" +
	"```python\nimport json\nenvelope = json.loads(input())\nprint(json.dumps({\"type\": \"message\", \"text\": \"You said: \" + envelope[\"text\"]}))\n```\n\n" +
	"1. lists\n2. in order\n   - and nested\n\n> and quotes"

func (d demoAgent) repeat() {
	d.progress("Thinking…")
	said := []string{"You said: " + d.envelope.Text}
	for _, path := range d.envelope.Media {
		said = append(said, "You sent: "+filepath.Base(path))
	}
	d.say(demoFrame{Type: "message", Text: strings.Join(said, "\n"), Media: d.envelope.Media})
	d.progress("Thinking of more to say…")
	d.say(demoFrame{Type: "message", Text: "I am the nanobot binary itself, speaking the rich protocol. Try: album, slow, ask, markdown, fail, or help for more."})
}

// ask puts a question to the person and repeats the answer. Where nobody can be asked, stdin has
// ended already.
func (d demoAgent) ask() {
	d.say(demoFrame{Type: "ask", ID: "colour", Text: "Which colour do you like best?", Options: []string{"Red", "Green", "Blue"}})
	var answer struct{ Text, Error string }
	switch err := d.in.Decode(&answer); {
	case err != nil:
		d.say(demoFrame{Type: "message", Text: "I cannot ask here: that needs `\"interactive\": true`."})
	case answer.Error != "":
		d.say(demoFrame{Type: "message", Text: "Nobody answered: " + answer.Error})
	default:
		d.say(demoFrame{Type: "message", Text: "You like " + answer.Text + "."})
	}
}

func (d demoAgent) album() error {
	var files []string
	for i, name := range []string{"rings", "waves", "checks"} {
		d.progress("Painting %s (%d of 3)…", name, i+1)
		path := filepath.Join(d.envelope.UserDataDir, name+".png")
		if err := paint(path, i); err != nil {
			d.say(demoFrame{Type: "error", Text: "could not paint: " + err.Error(), Code: "PAINT"})
			return exit.Error{Status: exit.Failed}
		}
		files = append(files, path)
	}
	d.say(demoFrame{Type: "message", Text: "Three pictures, in one album where the chat has albums:", Media: files})
	return nil
}

func paint(path string, pattern int) error {
	const size = 256
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			fx, fy := float64(x)/size-0.5, float64(y)/size-0.5
			v := [...]float64{math.Sin(60 * math.Hypot(fx, fy)), math.Sin(20*fx + 3*math.Sin(10*fy)), math.Sin(40*fx) * math.Sin(40*fy)}[pattern]
			img.Set(x, y, color.RGBA{R: uint8(128 + 100*v), G: uint8(x / 2), B: uint8(80 + y/2), A: 255})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(io.Writer(f), img), f.Close())
}
