package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/terminal"
)

// maxChoices limits the buttons of a question. Longer lists are shown as text.
const maxChoices = 20

// runCommand runs the message if it is one of the gateway's commands; done reports whether it is.
// said is the reply to the person.
func (x *turn) runCommand(ctx context.Context) (said string, done bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(x.t.Envelope.Text), " ")
	rest = strings.TrimSpace(rest)
	if len(x.t.Envelope.Media) > 0 || strings.Contains(rest, "\n") {
		return "", false, nil
	}
	switch word {
	case "/sessions":
		if !bool(x.a.initResponse.Capabilities.Session.List) && x.s.agentHasCommand("sessions") {
			return "", false, nil
		}
		said, err = x.runSessionsCommand(ctx, rest)
	case "/mode", "/model":
		what := word[1:]
		c := x.s.choice(what)
		if c == nil && x.s.agentHasCommand(what) {
			return "", false, nil // the agent has a command of this name
		}
		said, err = x.runChoiceCommand(ctx, what, c, rest)
	default:
		return "", false, nil
	}
	return said, true, err
}

// agentHasCommand reports whether the agent itself has a command of this name.
func (s *session) agentHasCommand(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.details.commands {
		if c.Name == name {
			return true
		}
	}
	return false
}

// option is one alternative: the name that the person sees and the value that the agent expects.
type option struct{ name, value string }

// askForOption asks the person to choose an option. If none is chosen, it returns nil and the reply
// to the person. usage is the command that chooses by name or number.
func (x *turn) askForOption(ctx context.Context, question, usage string, all []option, now string) (chosen *option, said string, err error) {
	if len(all) > maxChoices {
		return nil, renderOptions(question, usage, all, now), nil
	}
	names := optionLabels(all, now)
	q := terminal.Question{Text: question, Options: names, Timeout: x.askTimeout()}
	if usage == "/"+modeChoice {
		q.ID, q.Approval = newModeQuestionID(), true
	}
	answer, err := x.t.Ask(ctx, q)
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if err != nil {
		if errors.Is(err, terminal.ErrNobodyToAsk) {
			return nil, renderOptions(question, usage, all, now), nil
		}
		return nil, "Nothing was chosen.", nil
	}
	for i, name := range names {
		if strings.TrimSpace(answer.Text) == strings.TrimSpace(name) {
			return &all[i], "", nil
		}
	}
	if o := findOption(all, answer.Text); o != nil {
		return o, "", nil
	}
	return nil, renderOptions(fmt.Sprintf("There is no %q.", terminal.Shorten(answer.Text, 80)), usage, all, now), nil
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

// renderOptions lists the options as text, with a hint how to choose.
func renderOptions(head, usage string, all []option, now string) string {
	var s strings.Builder
	s.WriteString(head + "\n")
	for i, name := range optionLabels(all, now) {
		fmt.Fprintf(&s, "\n%d. %s", i+1, name)
	}
	fmt.Fprintf(&s, "\n\nChoose with %s and a number or a name.", usage)
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
