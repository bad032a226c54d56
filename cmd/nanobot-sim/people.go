package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// People wait this long for the bot to connect, and for a button to appear.
const (
	botWait    = 30 * time.Second
	buttonWait = 5 * time.Second
)

// action is what a person does: they send a message, press a button, or run a slash command.
type action struct {
	User id `json:"user"`
	Chat id `json:"chat"` // "": the private chat of the user
	// Of a message.
	Text    string      `json:"text"`
	File    *personFile `json:"file"`
	ReplyTo id          `json:"reply_to"`
	// Of a press: the button's data or label, the chosen values of a select menu, and the message;
	// "" for the newest that shows the button.
	Button  string   `json:"button"`
	Values  []string `json:"values"`
	Message id       `json:"message"`
	// Of a slash command.
	Command string         `json:"command"`
	Options map[string]any `json:"options"`
}

// personFile is a file that a person sends.
type personFile struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // such as photo; "": document
	Content []byte `json:"content"`
}

// id is an ID, which is a string or a number in JSON.
type id string

// UnmarshalJSON accepts both forms.
func (i *id) UnmarshalJSON(b []byte) error {
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(b, &text) == nil:
	case json.Unmarshal(b, &number) == nil:
		text = number.String()
	default:
		return fmt.Errorf("an ID is a string or a number, and not %s", b)
	}
	*i = id(text)
	return nil
}

// number returns the ID as a number from 1. "" is 0 and no error.
func (i id) number() (int64, error) {
	n, err := strconv.ParseInt(string(i), 10, 64)
	if i != "" && (err != nil || n < 1 || strconv.FormatInt(n, 10) != string(i)) {
		return 0, fmt.Errorf("%q is no ID: it is a whole number from 1", i)
	}
	return n, nil
}

// kind returns the kind of an action by its fields: messages, presses or commands.
func (a action) kind() (string, error) {
	var kinds []string
	if a.Text != "" || a.File != nil {
		kinds = append(kinds, "messages")
	}
	if a.Button != "" {
		kinds = append(kinds, "presses")
	}
	if a.Command != "" {
		kinds = append(kinds, "commands")
	}
	if len(kinds) != 1 {
		return "", errors.New("give either text or a file, or a button, or a command")
	}
	return kinds[0], nil
}

// act lets a person act. The result has the number of the last call before.
func act(n network, a action) (map[string]any, error) {
	if err := n.check(a); err != nil {
		return nil, err
	}
	after := n.Ended()
	result, err := n.act(a)
	if err == nil {
		result["after"] = after
	}
	return result, err
}

// scripted is a line of a script.
type scripted struct {
	After string `json:"after"` // the time since the line before
	action
	delay time.Duration
	line  int
}

// readScript reads and checks a script.
func readScript(path string, n network) ([]scripted, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	var script []scripted
	for i, line := range bytes.Split(content, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s := scripted{line: i + 1}
		err := decode(bytes.NewReader(line), &s)
		if err == nil && s.After != "" {
			s.delay, err = time.ParseDuration(s.After)
		}
		if err == nil {
			_, err = s.kind()
		}
		if err == nil {
			err = n.check(s.action)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, s.line, err)
		}
		script = append(script, s)
	}
	return script, nil
}

// play lets people act as a script says, from when the bot is connected.
func play(ctx context.Context, n network, script []scripted, stderr io.Writer) {
	if len(script) == 0 || !n.awaitBot(time.Hour) {
		return
	}
	for _, s := range script {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return
		}
		if _, err := act(n, s.action); err != nil && ctx.Err() == nil {
			fmt.Fprintf(stderr, "nanobot-sim: line %d of the script: %v\n", s.line, err)
		}
	}
}
