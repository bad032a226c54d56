package acp

import (
	"context"
	"strconv"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/steps"
)

const configCommand = "/config"

// runConfigCommand shows the agent's settings, or the values of one, or changes one: /config ID
// VALUE.
func (x *turn) runConfigCommand(ctx context.Context, all []*choice, args string) (said string, err error) {
	w := x.t.Words
	if len(all) == 0 {
		return w.Text(words.NoSettings), nil
	}
	p := optionPicker{question: w.Text(words.WhichSetting), command: configCommand}
	for _, c := range all {
		p.options = append(p.options, form.NewOption(settingLine(w, c), c.id))
	}
	if args == "" {
		return x.offer(ctx, p)
	}
	c, wanted := findSetting(w, all, args)
	if c == nil {
		return p.render(w, w.Text(words.UnknownSetting, terminal.Shorten(args, 80))), nil
	}
	return x.runSettingCommand(ctx, c, settingCommand{
		command: configCommand + " " + c.id, name: settingName(w, c), question: settingName(w, c) + "?",
		unknown: w.Text(words.UnknownValue, settingName(w, c), terminal.Shorten(wanted, 80)),
	}, wanted)
}

// findSetting finds the setting that a text begins with, by its ID, name or number. wanted is the
// rest of the text.
func findSetting(w words.Words, all []*choice, text string) (found *choice, wanted string) {
	length := 0
	// A button sends the ID, which may be the name or the number of another setting.
	for _, keyOf := range []func(i int, c *choice) string{
		func(_ int, c *choice) string { return c.id },
		func(_ int, c *choice) string { return settingName(w, c) },
		func(i int, _ *choice) string { return strconv.Itoa(i + 1) },
	} {
		for i, c := range all {
			key := keyOf(i, c)
			if rest, ok := cutWords(text, key); ok && len(key) > length {
				found, wanted, length = c, rest, len(key)
			}
		}
	}
	return found, wanted
}

// cutWords reports whether a text begins with these words, in upper or lower case, and returns the
// rest.
func cutWords(text, words string) (rest string, ok bool) {
	if len(text) < len(words) || !strings.EqualFold(text[:len(words)], words) {
		return "", false
	}
	rest = text[len(words):]
	return strings.TrimSpace(rest), words != "" && (rest == "" || rest[0] == ' ')
}

// settingLine returns the name and the value of a setting.
func settingLine(w words.Words, c *choice) string {
	return terminal.OneLine(settingName(w, c)+": "+valueText(w, c, c.current), steps.TitleLength)
}

// localOptions returns the values of a setting with the names that people see.
func (c *choice) localOptions(w words.Words) []form.Option {
	if !c.boolean {
		return c.options
	}
	return []form.Option{
		form.NewOption(valueText(w, c, valueOn), valueOn),
		form.NewOption(valueText(w, c, valueOff), valueOff),
	}
}
