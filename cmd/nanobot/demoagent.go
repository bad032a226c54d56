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

	"nanobot/channels/cli"
	"nanobot/cmd/nanobot/exit"
	"nanobot/terminal"
)

// newDemoAgent returns the hidden command that is the built-in agent, an ordinary agent of the rich
// protocol. The first word of a message chooses what it does.
func newDemoAgent(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:    "demo-agent",
		Short:  "Run as the demo agent: an envelope on stdin, frames on stdout",
		Hidden: true,
		Args:   noArguments,
		RunE: func(*cobra.Command, []string) error {
			d := demoAgent{std: std, in: json.NewDecoder(std.in), out: json.NewEncoder(std.out), pace: 400 * time.Millisecond}
			if err := d.in.Decode(&d.envelope); err != nil {
				return fmt.Errorf("read envelope: %w", err)
			}
			return d.handleMessage()
		},
	}
}

type demoAgent struct {
	envelope terminal.Envelope
	std      stdio
	in       *json.Decoder
	out      *json.Encoder
	pace     time.Duration // pause after each progress frame, so that a person can follow
}

type demoFrame struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	Media   []string `json:"media,omitempty"`
	Code    string   `json:"code,omitempty"`
	Level   string   `json:"level,omitempty"`
	ID      string   `json:"id,omitempty"`
	Options []string `json:"options,omitempty"`
	Buttons []string `json:"buttons,omitempty"`
}

// stopKey names the other way to stop a turn: a key in a terminal, a button in a chat.
func (d demoAgent) stopKey() string {
	if strings.HasPrefix(d.envelope.SessionKey, cli.Name+":") {
		return "Ctrl-C"
	}
	return "the button"
}

func (d demoAgent) printFrame(f demoFrame) { _ = d.out.Encode(f) }

func (d demoAgent) printProgress(format string, args ...any) {
	d.printFrame(demoFrame{Type: "progress", Text: fmt.Sprintf(format, args...)})
	time.Sleep(d.pace)
}

func (d demoAgent) handleMessage() error {
	word := ""
	if words := strings.Fields(strings.ToLower(d.envelope.Text)); len(words) > 0 {
		word = strings.Trim(words[0], ".!/")
	}
	if folder := demoExamples[word]; folder != "" {
		return d.runExample(folder)
	}
	switch word {
	case "album":
		return d.sendAlbum()
	case "fail":
		d.printProgress("Trying something that cannot work…")
		d.printFrame(demoFrame{Type: "error", Text: "this is what an error frame looks like", Code: "DEMO"})
		return exit.Error{Status: exit.Failed}
	case "slow":
		for i := range 60 {
			d.printProgress("Working, step %d of 60 (stop me with /stop or %s)", i+1, d.stopKey())
			d.printFrame(demoFrame{Type: "log", Level: "info", Text: fmt.Sprintf("step %d is done", i+1)})
		}
		d.printFrame(demoFrame{Type: "message", Text: "Done at last."})
	case "ask":
		d.askQuestion()
	case "stream":
		d.streamAnswer()
	case "buttons":
		d.printFrame(demoFrame{
			Type: "message", Text: "What next? A press is your next message.",
			Buttons: []string{"album", "stream", "ask"},
		})
	case "markdown":
		d.printFrame(demoFrame{Type: "message", Text: demoMarkdown})
	case "help":
		d.printFrame(demoFrame{Type: "message", Text: demoHelp})
	default:
		d.echo()
	}
	return nil
}

// demoHelp is the answer to "help".
//
//nolint:lll // the text has lines of its own
const demoHelp = `Write one of these words:

- **album**: three pictures, drawn on the spot
- **slow**: a long task that you can stop
- **ask**: a question; the agent waits for your answer
- **stream**: an answer that you read while it is written
- **buttons**: buttons under a message, for your next message
- **markdown**: what an answer can look like
- **fail**: an error
- anything else, also with files: the agent repeats it

This agent is the nanobot binary itself, which speaks the rich protocol. The following agents are a few lines of Python each. Write the name and then
your message:

- **minimal** hello: the quick start of the protocol
- **stateful** hello: remembers the chat
- **image** a lighthouse at night: paints a picture
- **analyzer** if x == None: sends several messages and a file
- **user-images**, with a picture: removes the hidden data from it
- **errors** 1 / 0: a calculator that reports its errors`

const demoMarkdown = "# An answer\n\n*Markdown* becomes what the chat has: **bold**, ~~struck~~, `code`, " +
	"[links](https://example.com).\n\n" +
	"| language | lines for an agent |\n| --- | ---: |\n| Python | 5 |\n| shell | 3 |\n\n" +
	"```python\nimport json\nenvelope = json.loads(input())\nprint(json.dumps({\"type\": \"message\", \"text\": \"You " +
	"said: \" + envelope[\"text\"]}))\n```\n\n" +
	"1. lists\n2. in order\n   - and nested\n\n> and quotes"

func (d demoAgent) echo() {
	d.printProgress("Thinking…")
	said := []string{"You said: " + d.envelope.Text}
	for _, path := range d.envelope.Media {
		said = append(said, "You sent: "+filepath.Base(path))
	}
	d.printFrame(demoFrame{Type: "message", Text: strings.Join(said, "\n"), Media: d.envelope.Media})
	d.printProgress("Thinking of more to say…")
	d.printFrame(demoFrame{
		Type: "message",
		Text: "I am the nanobot binary itself, speaking the rich protocol. Try: album, slow, ask, stream, buttons, " +
			"markdown, fail, or help for more.",
	})
}

// streamAnswer writes an answer in pieces, about as fast as a model.
func (d demoAgent) streamAnswer() {
	const answer = "This answer comes **word by word**, as a model writes it. The agent prints a `delta` frame for each " +
		"piece, and the chat shows the message " +
		"while it grows. At the end it is an ordinary message, which is sent once."
	for _, piece := range strings.SplitAfter(answer, " ") {
		d.printFrame(demoFrame{Type: "delta", Text: piece})
		time.Sleep(d.pace / 5)
	}
}

// askQuestion asks the person a question and repeats the answer. If terminal.interactive is off,
// stdin has ended already.
func (d demoAgent) askQuestion() {
	d.printFrame(demoFrame{
		Type: "ask", ID: "colour", Text: "Which colour do you like best?",
		Options: []string{"Red", "Green", "Blue"},
	})
	var answer struct{ Text, Error string }
	switch err := d.in.Decode(&answer); {
	case err != nil:
		d.printFrame(demoFrame{
			Type: "message",
			Text: "I cannot ask questions here. They need `\"interactive\": true` in the config.",
		})
	case answer.Error != "":
		d.printFrame(demoFrame{Type: "message", Text: "Nobody answered: " + answer.Error})
	default:
		d.printFrame(demoFrame{Type: "message", Text: "You like " + answer.Text + "."})
	}
}

func (d demoAgent) sendAlbum() error {
	var files []string
	for i, name := range []string{"rings", "waves", "checks"} {
		d.printProgress("Painting %s (%d of 3)…", name, i+1)
		path := filepath.Join(d.envelope.UserDataDir, name+".png")
		if err := drawPattern(path, i); err != nil {
			d.printFrame(demoFrame{Type: "error", Text: "could not paint: " + err.Error(), Code: "PAINT"})
			return exit.Error{Status: exit.Failed}
		}
		files = append(files, path)
	}
	d.printFrame(demoFrame{
		Type: "message", Text: "Three pictures, as an album if the chat supports albums:",
		Media: files,
	})
	return nil
}

func drawPattern(path string, pattern int) error {
	const size = 256
	img := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			fx, fy := float64(x)/size-0.5, float64(y)/size-0.5
			v := [...]float64{
				math.Sin(60 * math.Hypot(fx, fy)), math.Sin(20*fx + 3*math.Sin(10*fy)),
				math.Sin(40*fx) * math.Sin(40*fy),
			}[pattern]
			img.Set(x, y, color.RGBA{R: uint8(128 + 100*v), G: uint8(x / 2), B: uint8(80 + y/2), A: 255})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(io.Writer(f), img), f.Close())
}
