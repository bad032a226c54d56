package main

// What an agent of protocol rich needs, in one file: copy it beside your agent.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Line is a line of nanobot: the envelope, an answer, or what the person has written meanwhile.
type Line struct {
	Type        string   `json:"type"`
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	Error       string   `json:"error"`
	Media       []string `json:"media"`
	UserDataDir string   `json:"user_data_dir"`
}

// Frame is a line for nanobot.
type Frame struct {
	Type    string   `json:"type"`
	Text    string   `json:"text"`
	ID      string   `json:"id,omitempty"`
	Code    string   `json:"code,omitempty"`
	Media   []string `json:"media,omitempty"`
	Options []string `json:"options,omitempty"`
}

// Turn is a conversation with nanobot.
type Turn struct {
	Line         // the envelope
	Later []Line // what the person has written during the turn, see "inject" in docs/protocol.md

	in    *bufio.Reader
	asked int
}

// ReadTurn reads the envelope. Without one, the agent ends.
func ReadTurn() *Turn {
	t := &Turn{in: bufio.NewReader(os.Stdin)}
	var err error
	if t.Line, err = t.read(); err != nil {
		fmt.Fprintln(os.Stderr, "read envelope:", err)
		os.Exit(1)
	}
	return t
}

func (t *Turn) read() (line Line, err error) {
	text, err := t.in.ReadBytes('\n')
	if len(text) > 0 && (err == nil || errors.Is(err, io.EOF)) {
		err = json.Unmarshal(text, &line)
	}
	return line, err
}

// Files returns the paths of the person's files that are still there.
func (t *Turn) Files() (there []string) {
	for _, path := range t.Media {
		if _, err := os.Stat(path); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// Print prints a frame at once: os.Stdout has no buffer.
func (t *Turn) Print(f Frame) {
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		os.Exit(1) // nobody reads it
	}
}

// Progress shows a text until the next one or the end of the turn.
func (t *Turn) Progress(text string) { t.Print(Frame{Type: "progress", Text: text}) }

// Delta writes the next piece of a message.
func (t *Turn) Delta(text string) { t.Print(Frame{Type: "delta", Text: text}) }

// Message sends a message with files, such as t.Message("Look:", "/absolute/path.png").
func (t *Turn) Message(text string, files ...string) {
	t.Print(Frame{Type: "message", Text: text, Media: files})
}

// Fail ends the turn with an error.
func (t *Turn) Fail(text, code string) {
	t.Print(Frame{Type: "error", Text: text, Code: code})
	os.Exit(1)
}

// Ask asks the person. It reports false if nobody has answered. It needs "interactive": true.
func (t *Turn) Ask(text string, options ...string) (answer string, ok bool) {
	t.asked++
	id := fmt.Sprintf("q%d", t.asked)
	t.Print(Frame{Type: "ask", Text: text, ID: id, Options: options})
	for {
		line, err := t.read()
		switch {
		case err != nil:
			return "", false
		case line.Type == "answer" && line.ID == id:
			return line.Text, line.Error == ""
		}
		t.Later = append(t.Later, line)
	}
}
