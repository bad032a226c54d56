package cassette

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nanobot/terminal"
)

// Player plays a cassette as an agent that prints JSON frames.
type Player struct {
	In       io.Reader // the envelope, and answers
	Out, Err io.Writer
	// Pace keeps the recorded times of the frames.
	Pace bool

	cassette *Cassette
	lines    *bufio.Reader // of In
	ids      map[int]string
	silent   bool   // the agent has said nothing, and nanobot says that again
	dir      string // for files
}

// playedFrame is a frame as an agent prints it.
type playedFrame struct {
	Type    terminal.Kind `json:"type"`
	ID      string        `json:"id,omitempty"`
	Text    string        `json:"text"`
	Media   []string      `json:"media,omitempty"`
	Options []string      `json:"options,omitempty"`
	Buttons []string      `json:"buttons,omitempty"`
	Silent  bool          `json:"silent,omitempty"`
	Secret  bool          `json:"secret,omitempty"`
	Code    string        `json:"code,omitempty"`
	Level   string        `json:"level,omitempty"`
}

// Play reads the envelope and prints the last attempt of a cassette. Each question waits for its
// answer. It returns the exit code.
func (p *Player) Play(c *Cassette) (code int, err error) {
	lines, err := c.Attempt()
	if err != nil {
		return 0, err
	}
	p.cassette, p.lines, p.ids = c, bufio.NewReader(p.In), map[int]string{}
	line, _ := p.lines.ReadBytes('\n') // which is complete or no JSON
	var envelope terminal.Envelope
	if err := json.Unmarshal(line, &envelope); err != nil {
		return 0, fmt.Errorf("read envelope: %w", err)
	}
	if p.dir = envelope.UserDataDir; p.dir == "" {
		p.dir = os.TempDir()
	}
	last := lines[len(lines)-1]
	for _, l := range lines {
		if l.Type == TypeExit {
			last = l
		}
	}
	p.silent = last.Type == TypeExit && last.Exit.Status == terminal.Silent
	began := time.Now()
	for _, l := range lines {
		if p.Pace {
			time.Sleep(time.Until(began.Add(time.Duration(l.At) * time.Millisecond)))
		}
		if err := p.playLine(l); err != nil {
			return 0, err
		}
	}
	if last.Type != TypeExit {
		return 0, nil
	}
	_, err = io.WriteString(p.Err, last.Exit.Stderr)
	return last.Exit.Code, err
}

func (p *Player) playLine(l Line) error {
	switch l.Type {
	case TypeFrame:
		return p.playFrame(l)
	case TypeAsk:
		p.ids[l.Ask.Number] = "question-" + strconv.Itoa(l.Ask.Number)
		return p.print(playedFrame{
			Type: "ask", ID: p.ids[l.Ask.Number], Text: l.Ask.Text, Options: l.Ask.Options, Secret: l.Ask.Secret,
		})
	case TypeAnswer:
		return p.awaitAnswer(p.ids[l.Answer.Number])
	case TypeCassette, TypeEnvelope, TypeInject, TypeSend, TypeReceipt, TypeExit:
	}
	return nil
}

// errorHead is what nanobot writes before the text of an agent's error.
var errorHead = regexp.MustCompile(`^Error(?: \([^)\n]*\))?(?:: |$)`)

func (p *Player) playFrame(l Line) error {
	f := l.Frame
	text, silent := f.Text, f.Silent
	if i := strings.LastIndex(text, f.Appended); f.Appended != "" && i >= 0 {
		text = strings.TrimSuffix(text[:i], "\n") + text[i+len(f.Appended):]
	}
	switch {
	case f.Own && (text == "" || p.silent), text == "" && len(l.Files) == 0 && f.Type != terminal.Progress:
		return nil
	case f.Type == terminal.Partial:
		return p.print(playedFrame{Type: "delta", Text: text})
	case f.Type == terminal.Error:
		text = errorHead.ReplaceAllString(text, "")
	}
	out := playedFrame{Type: f.Type, Text: text, Buttons: f.Buttons, Silent: silent, Code: f.Code, Level: f.Level}
	for _, file := range l.Files {
		path, err := p.cassette.CopyFile(file, p.dir)
		if err != nil {
			return err
		}
		out.Media = append(out.Media, path)
	}
	return p.print(out)
}

func (p *Player) print(f playedFrame) error {
	line, err := terminal.EncodeLine(f)
	if err == nil {
		_, err = p.Out.Write(line)
	}
	return err
}

// awaitAnswer reads lines until the answer to a question. Without an answer the input ends.
func (p *Player) awaitAnswer(id string) error {
	for {
		line, err := p.lines.ReadBytes('\n')
		var got struct{ Type, ID string }
		if json.Unmarshal(line, &got) == nil && got.Type == string(TypeAnswer) && got.ID == id {
			return nil
		}
		if err == io.EOF { //nolint:errorlint // bufio returns it as it is
			return nil
		}
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
	}
}
