package acp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/form"
)

// optionPicker is a question for one of several options.
type optionPicker struct {
	question string
	// command chooses an option that follows it: its value, its name or its number.
	command  string
	options  []form.Option
	current  string // the value of the current option
	approval bool   // only approvers may choose
}

// offer posts the options with buttons. The turn does not wait for a choice: the chosen option is
// the next message, as if the person had written the command with it. Many options, and those in a
// chat without buttons, are shown as text, which offer returns.
func (x *turn) offer(ctx context.Context, p optionPicker) (said string, err error) {
	if len(p.options) > form.MaxChoices {
		return p.render(x.t.Words, p.question), nil
	}
	q := terminal.Question{
		ID: "picker", Text: p.question, Approval: p.approval,
		Options: form.Labels(p.options, p.current),
	}
	for i := range p.options {
		q.Commands = append(q.Commands, p.command+" "+p.argument(i))
	}
	x.r.view.EmitPending()
	_, err = x.t.Ask(ctx, q)
	if errors.Is(err, terminal.ErrNobodyToAsk) {
		return p.render(x.t.Words, p.question), nil
	}
	return "", err
}

// argument returns what follows the command to choose an option.
func (p *optionPicker) argument(i int) string {
	value := p.options[i].Value
	if value == "" || strings.TrimSpace(value) != value || strings.ContainsAny(value, "\r\n") {
		return strconv.Itoa(i + 1) // it would not be found again
	}
	return value
}

// render lists the options as text, with a hint how to choose.
func (p *optionPicker) render(w words.Words, head string) string {
	var s strings.Builder
	s.WriteString(head + "\n")
	for i, name := range form.Labels(p.options, p.current) {
		fmt.Fprintf(&s, "\n%d. %s", i+1, name)
	}
	s.WriteString("\n\n" + w.Text(words.ChooseBy, p.command))
	return s.String()
}
