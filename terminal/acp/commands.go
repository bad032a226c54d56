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

// maxChoices is how many things a person is asked to choose from; more are told as a list.
const maxChoices = 20

// command carries out a message that is a command of ours. done says that it was one, said is what
// the person is told.
func (x *turn) command(ctx context.Context) (said string, done bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(x.t.Envelope.Text), " ")
	rest = strings.TrimSpace(rest)
	if len(x.t.Envelope.Media) > 0 || strings.Contains(rest, "\n") {
		return "", false, nil
	}
	switch word {
	case "/sessions":
		if !bool(x.a.hello.Can.Session.List) && x.s.offers("sessions") {
			return "", false, nil
		}
		said, err = x.sessions(ctx, rest)
	case "/mode", "/model":
		what := word[1:]
		c := x.s.choice(what)
		if c == nil && x.s.offers(what) {
			return "", false, nil // the agent has a command of this name
		}
		said, err = x.choose(ctx, what, c, rest)
	default:
		return "", false, nil
	}
	return said, true, err
}

// offers says whether the agent itself understands a command.
func (s *session) offers(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.about.commands {
		if c.Name == name {
			return true
		}
	}
	return false
}

// option is something to choose: what it is called and what it is for the agent.
type option struct{ name, value string }

// pick asks the person for one of some options; without any that fits, it returns none and what to
// tell. usage is the command that chooses one by its name or number.
func (x *turn) pick(ctx context.Context, question, usage string, all []option, now string) (chosen *option, said string, err error) {
	if len(all) > maxChoices {
		return nil, listed(question, usage, all, now), nil
	}
	names := labels(all, now)
	q := terminal.Question{Text: question, Options: names, Timeout: x.askTimeout()}
	if usage == "/"+modeChoice {
		q.ID, q.Approval = modeQuestion(), true
	}
	answer, err := x.t.Ask(ctx, q)
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if err != nil {
		if errors.Is(err, terminal.ErrNobodyToAsk) {
			return nil, listed(question, usage, all, now), nil
		}
		return nil, "Nothing was chosen.", nil
	}
	for i, name := range names {
		if strings.TrimSpace(answer.Text) == strings.TrimSpace(name) {
			return &all[i], "", nil
		}
	}
	if o := find1(all, answer.Text); o != nil {
		return o, "", nil
	}
	return nil, listed(fmt.Sprintf("There is no %q.", terminal.Shorten(answer.Text, 80)), usage, all, now), nil
}

// labels returns what to call each option; no two are the same.
func labels(all []option, now string) []string {
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

// listed writes out what can be chosen.
func listed(head, usage string, all []option, now string) string {
	var s strings.Builder
	s.WriteString(head + "\n")
	for i, name := range labels(all, now) {
		fmt.Fprintf(&s, "\n%d. %s", i+1, name)
	}
	fmt.Fprintf(&s, "\n\nChoose with %s and a number or a name.", usage)
	return s.String()
}

// find1 returns the option that a person means: by value, name or number, else by a part of the
// name that only it has.
func find1(all []option, said string) *option {
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
