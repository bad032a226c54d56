package cassette

import (
	"bufio"
	"encoding/json"
	"errors"
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

// playedFrame is a frame or a question as an agent prints it.
type playedFrame struct {
	Frame
	ID      string   `json:"id,omitempty"`
	Options []string `json:"options,omitempty"`
	Secret  bool     `json:"secret,omitempty"`
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
	var exit Exit
	for _, l := range lines {
		if l.Type == TypeExit {
			exit = *l.Exit
		}
	}
	p.silent = exit.Status == terminal.Silent
	began := time.Now()
	for _, l := range lines {
		if p.Pace {
			time.Sleep(time.Until(began.Add(time.Duration(l.At) * time.Millisecond)))
		}
		if err := p.playLine(l); err != nil {
			return 0, err
		}
	}
	_, err = io.WriteString(p.Err, exit.Stderr)
	return exit.Code, err
}

func (p *Player) playLine(l Line) error {
	switch l.Type {
	case TypeFrame:
		return p.playFrame(l)
	case TypeAsk:
		p.ids[l.Ask.Number] = "question-" + strconv.Itoa(l.Ask.Number)
		return p.print(playedFrame{
			Frame{Type: "ask", Text: l.Ask.Text}, p.ids[l.Ask.Number], l.Ask.Options, l.Ask.Secret,
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
	f := *l.Frame
	if i := strings.LastIndex(f.Text, f.Appended); f.Appended != "" && i >= 0 {
		f.Text = strings.TrimSuffix(f.Text[:i], "\n") + f.Text[i+len(f.Appended):]
	}
	if f.Own && (f.Text == "" || p.silent) || f.Text == "" && len(l.Files) == 0 { // nanobot says it again
		return nil
	}
	switch f.Type {
	case terminal.Partial:
		f.Type = "delta"
	case terminal.Error:
		f.Text = errorHead.ReplaceAllString(f.Text, "")
	case terminal.Message, terminal.Progress, terminal.Log:
	}
	f.Media, f.Format, f.Board, f.Own, f.Appended, f.Screen = nil, "", false, false, "", ""
	for _, file := range l.Files {
		path, err := p.cassette.CopyFile(file, p.dir)
		if err != nil {
			return err
		}
		f.Media = append(f.Media, path)
	}
	return p.print(playedFrame{Frame: f})
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
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
	}
}
