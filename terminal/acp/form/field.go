package form

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/steps"
)

// fieldQuestion asks for one field of a form.
type fieldQuestion struct {
	asker
	formField
	head   string // the agent's message; "": it was shown before
	number string // which of several fields this is; "": there is only one
}

// askField asks until the answer fits the field. The value is nil if the field is left out.
func (q fieldQuestion) askField(ctx context.Context) (any, error) {
	if q.Type == "array" {
		return q.askSeveral(ctx)
	}
	choices := q.choices()
	skip := q.skipOption(choices)
	mistake := ""
	for {
		question := q.question(mistake, choices)
		if skip != "" {
			question.Options = append(question.Options, skip)
		}
		said, err := q.askOrCancel(ctx, question, choices)
		if err != nil {
			return nil, err
		}
		if skip != "" && strings.EqualFold(said, skip) {
			return q.defaultValue(), nil
		}
		value, wrong := q.parse(said, choices)
		if wrong == "" {
			return value, nil
		}
		mistake = wrong
	}
}

// errFormCancelled says that the person has cancelled a form.
var errFormCancelled = errors.New("the person cancelled the form")

// askOrCancel asks a question for the field that has a button more, which cancels the whole form.
// The buttons behind those of the choices can be named by their numbers, too.
func (q fieldQuestion) askOrCancel(ctx context.Context, question terminal.Question, choices []Option) (string, error) {
	used := slices.Clone(choices)
	for _, o := range question.Options {
		used = append(used, Option{Name: o})
	}
	cancel := unusedName(q.text(words.ButtonCancel), used)
	question.Options = append(question.Options, cancel)
	said, err := q.ask(ctx, question)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(said); err == nil && len(choices) > 0 && findChoice(choices, said) == nil &&
		n > len(choices) && n <= len(question.Options) {
		said = question.Options[n-1]
	}
	if strings.EqualFold(said, cancel) {
		return "", errFormCancelled
	}
	return said, nil
}

// ownAnswer is the value of a field whose answer is none of the options: it belongs into the field
// for notes.
type ownAnswer string

// choices returns the answers of an enum or a boolean; none: the person writes the value.
func (q fieldQuestion) choices() []Option {
	if q.Type == "boolean" {
		return []Option{{q.text(words.ButtonYes), "true"}, {q.text(words.ButtonNo), "false"}}
	}
	options := q.options()
	for i, name := range Labels(options, noCurrent) {
		options[i].Name = name
	}
	return options
}

// noCurrent is the value of no option.
const noCurrent = "\x00"

// skipOption returns the button that leaves out an optional field, or gives a written one its
// default; "": there is none.
func (q fieldQuestion) skipOption(choices []Option) string {
	byDefault := q.defaultText()
	switch {
	case len(choices) == 0 && byDefault != "":
		return byDefault
	case !q.required:
		return unusedName(q.text(words.ButtonSkip), choices)
	}
	return ""
}

// unusedName returns a name that none of the choices has.
func unusedName(name string, choices []Option) string {
	for slices.ContainsFunc(choices, func(c Option) bool { return strings.EqualFold(c.Name, name) }) {
		name += "…"
	}
	return name
}

// question returns the question for the field. mistake says why it is asked again.
func (q fieldQuestion) question(mistake string, choices []Option) terminal.Question {
	title := steps.EscapeTitle(terminal.OneLine(q.Title.V, steps.TitleLength))
	if title == "" && q.Description.V == "" && (q.head == "" || q.number != "") {
		title = steps.EscapeTitle(terminal.OneLine(q.name, steps.TitleLength))
	}
	if title != "" {
		title = "**" + title + "**"
	}
	if q.number != "" {
		title = strings.TrimSpace(title + " (" + q.number + ")")
	}
	parts := []string{q.head, title, terminal.Shorten(strings.TrimSpace(terminal.Clean(q.Description.V)),
		maxElicitMessage)}
	if mistake != "" {
		parts = slices.Insert(parts, 0, "⚠ "+mistake)
	}
	if len(choices) > 0 && q.defaultText() != "" {
		parts = append(parts, q.text(words.FieldDefault, q.defaultText()))
	}
	if q.note != "" {
		parts = append(parts, q.text(words.FieldOwnAnswer))
	}
	question := terminal.Question{OtherText: terminal.OtherTextAnswers, Secret: q.isSecret()}
	if len(choices) > MaxChoices { // too many buttons
		var list []string
		for i, c := range choices {
			list = append(list, fmt.Sprintf("%d. %s", i+1, c.Name))
		}
		parts = append(parts, strings.Join(list, "\n"))
	} else {
		for _, c := range choices {
			question.Options = append(question.Options, c.Name)
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	question.Text = strings.Join(parts, "\n\n")
	return question
}

// parse returns the value of an answer, or what is wrong with it.
func (q fieldQuestion) parse(said string, choices []Option) (value any, mistake string) {
	if len(choices) == 0 {
		return q.parseWritten(said)
	}
	if c := findChoice(choices, said); c != nil {
		if q.Type == "boolean" {
			return c.Value == "true", ""
		}
		return c.Value, ""
	}
	if q.note != "" {
		return ownAnswer(said), ""
	}
	return nil, q.text(words.FieldNotOption)
}

// findChoice returns the choice that a person has named, by its name, its value or its number; nil
// if there is none. A button sends the name, which may be the value of another choice.
func findChoice(choices []Option, said string) *Option {
	return matchOption(choices, strings.TrimSpace(said), nameOf, valueOf)
}

// askSeveral asks for some of several values: each press adds one, and a text can name several.
func (q fieldQuestion) askSeveral(ctx context.Context) (any, error) {
	left, chosen, names, mistake := q.choices(), []string{}, []string(nil), ""
	most := len(left)
	if q.MaxItems != nil {
		most = min(most, *q.MaxItems)
	}
	for len(chosen) < most {
		question := q.question(mistake, left)
		mistake = ""
		if len(names) > 0 {
			question.Text += "\n\n" + q.text(words.FieldChosen, strings.Join(names, ", "))
		}
		end := ""
		switch {
		case len(chosen) == 0 && !q.required:
			end = unusedName(q.text(words.ButtonSkip), left)
		case len(chosen) >= q.MinItems:
			end = unusedName(q.text(words.ButtonDone), left)
		}
		if end != "" {
			question.Options = append(question.Options, end)
		}
		said, err := q.askOrCancel(ctx, question, left)
		switch {
		case err != nil:
			return nil, err
		case end != "" && strings.EqualFold(said, end) && len(chosen) == 0 && !q.required:
			return q.defaultValue(), nil
		case end != "" && strings.EqualFold(said, end):
			return chosen, nil
		}
		picked, whole := q.parseSeveral(said, left)
		if len(picked)+len(chosen) == 0 && q.note != "" {
			return ownAnswer(said), nil
		}
		if len(picked) == 0 || len(chosen)+len(picked) > most {
			mistake = q.text(words.FieldNotOption)
			continue
		}
		for _, c := range picked {
			chosen, names = append(chosen, c.Value), append(names, c.Name)
			left = slices.DeleteFunc(left, func(o Option) bool { return o.Name == c.Name })
		}
		if whole && len(chosen) >= q.MinItems {
			break
		}
		q.head = ""
	}
	return chosen, nil
}

// parseSeveral returns the choices that a text names. whole says that they are all that the person
// wants, because the text names more than one.
func (q fieldQuestion) parseSeveral(said string, choices []Option) (picked []Option, whole bool) {
	if c := findChoice(choices, said); c != nil { // its name may have a comma
		return []Option{*c}, false
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(said, "\n", ","), ",") {
		c := findChoice(choices, part)
		if c == nil {
			return nil, false
		}
		if !slices.ContainsFunc(picked, func(o Option) bool { return o.Name == c.Name }) {
			picked = append(picked, *c)
		}
	}
	return picked, len(picked) > 1
}

// defaultValue returns the default of the field, or nil.
func (f *formField) defaultValue() any {
	if len(f.Default) == 0 || string(f.Default) == "null" {
		return nil
	}
	return f.Default
}

// defaultText returns the default of the field as people see it; "": there is none.
func (q fieldQuestion) defaultText() string {
	if q.defaultValue() == nil || q.isSecret() {
		return ""
	}
	var several []string
	if json.Unmarshal(q.Default, &several) != nil {
		several = []string{rpc.PlainText(q.Default)}
	}
	for i, value := range several {
		for _, c := range q.choices() {
			if c.Value == value {
				several[i] = c.Name
			}
		}
	}
	return terminal.OneLine(strings.Join(several, ", "), steps.TitleLength)
}
