package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
)

// maxChoices limits the buttons of a picker. Longer lists are shown as text.
const maxChoices = 20

// option is one alternative: the name that the person sees and the value that the agent expects.
type option struct{ name, value string }

// optionPicker is a question for one of several options.
type optionPicker struct {
	question string
	// command chooses an option that follows it: its value, its name or its number.
	command  string
	options  []option
	current  string // the value of the current option
	approval bool   // only approvers may choose
}

// offer posts the options with buttons. The turn does not wait for a choice: the chosen option is
// the next message, as if the person had written the command with it. Many options, and those in a
// chat without buttons, are shown as text, which offer returns.
func (x *turn) offer(ctx context.Context, p optionPicker) (said string, err error) {
	if len(p.options) > maxChoices {
		return p.render(x.t.Words, p.question), nil
	}
	picker := terminal.Picker{Text: p.question, Approval: p.approval}
	for i, label := range optionLabels(p.options, p.current) {
		picker.Options = append(picker.Options, terminal.PickerOption{Label: label, Command: p.command + " " + p.argument(i)})
	}
	x.r.view.emitPending()
	err = x.t.Offer(ctx, picker)
	if errors.Is(err, terminal.ErrNobodyToAsk) {
		return p.render(x.t.Words, p.question), nil
	}
	return "", err
}

// argument returns what follows the command to choose an option.
func (p *optionPicker) argument(i int) string {
	value := p.options[i].value
	if value == "" || strings.TrimSpace(value) != value || strings.ContainsAny(value, "\r\n") {
		return strconv.Itoa(i + 1) // it would not be found again
	}
	return value
}

// optionLabels returns a unique label for each option.
func optionLabels(all []option, now string) []string {
	var names []string
	for _, o := range all {
		name := o.label(now)
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s (%d)", o.label(now), n)
		}
		names = append(names, name)
	}
	return names
}

func (o option) label(now string) string {
	if o.value == now {
		return "✓ " + o.name
	}
	return o.name
}

// render lists the options as text, with a hint how to choose.
func (p *optionPicker) render(w words.Words, head string) string {
	var s strings.Builder
	s.WriteString(head + "\n")
	for i, name := range optionLabels(p.options, p.current) {
		fmt.Fprintf(&s, "\n%d. %s", i+1, name)
	}
	s.WriteString("\n\n" + w.Text(words.ChooseBy, p.command))
	return s.String()
}

// findOption finds the option that a person typed: by value, name or number, else by a part of the
// name that is unique.
func findOption(all []option, said string) *option {
	said = strings.ToLower(strings.TrimSpace(said))
	for i, o := range all {
		if said == strings.ToLower(o.value) || said == strings.ToLower(o.name) {
			return &all[i]
		}
	}
	if n, err := strconv.Atoi(said); err == nil {
		if n >= 1 && n <= len(all) {
			return &all[n-1]
		}
		return nil
	}
	var found *option
	for i, o := range all {
		if said == "" || !strings.Contains(strings.ToLower(o.name), said) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &all[i]
	}
	return found
}
