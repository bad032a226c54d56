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
	x.r.view.EmitPending()
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

// maxOptionName limits the length of an option's label.
const maxOptionName = 200

// optionLabels returns a unique label that can be seen for each option.
func optionLabels(all []option, now string) []string {
	names := make([]string, 0, len(all))
	used, next := map[string]bool{}, map[string]int{}
	for i, o := range all {
		label := terminal.OneLine(o.name, maxOptionName)
		if label == "" {
			label = fmt.Sprintf("(%d)", i+1)
		}
		if o.value == now {
			label = "✓ " + label
		}
		name := label
		for next[label] = max(next[label], 2); used[name]; next[label]++ {
			name = fmt.Sprintf("%s (%d)", label, next[label])
		}
		used[name] = true
		names = append(names, name)
	}
	return names
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
	said = strings.TrimSpace(said)
	// A button sends the value, which may be the name of another option.
	for _, is := range []func(option) bool{
		func(o option) bool { return o.value == said },
		func(o option) bool { return o.name == said },
		func(o option) bool { return strings.EqualFold(o.value, said) },
		func(o option) bool { return strings.EqualFold(o.name, said) },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return &all[i]
		}
	}
	said = strings.ToLower(said)
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
