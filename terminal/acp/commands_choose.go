package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nanobot/internal/role"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/steps"
)

// settingCommand is a command that shows or changes one setting, with its texts.
type settingCommand struct {
	command  string // such as /mode
	name     string // of the setting
	question string
	unknown  string // says that there is no such value
}

// choiceTexts are the texts of the commands /mode and /model.
var choiceTexts = map[string]struct{ name, none, question, unknown words.Key }{
	modeChoice:  {words.SettingMode, words.NoMode, words.WhichMode, words.UnknownMode},
	modelChoice: {words.SettingModel, words.NoModel, words.WhichModel, words.UnknownModel},
}

// runChoiceCommand shows or changes the mode or the model.
func (x *turn) runChoiceCommand(ctx context.Context, what string, c *choice, wanted string) (said string, err error) {
	texts, w := choiceTexts[what], x.t.Words
	if c == nil {
		return w.Text(texts.none), nil
	}
	return x.runSettingCommand(ctx, c, settingCommand{
		command: "/" + what, name: w.Text(texts.name), question: w.Text(texts.question),
		unknown: w.Text(texts.unknown, terminal.Shorten(wanted, 80)),
	}, wanted)
}

// runSettingCommand shows the values of a setting, or sets one.
func (x *turn) runSettingCommand(ctx context.Context, c *choice, cmd settingCommand, wanted string) (
	said string, err error,
) {
	w := x.t.Words
	options := c.localOptions(w)
	p := optionPicker{
		question: cmd.question, command: cmd.command, options: options, current: c.current,
		approval: c.needsApproval(),
	}
	if wanted == "" {
		return x.offer(ctx, p)
	}
	o := form.FindOption(options, wanted)
	if o == nil {
		return p.render(w, cmd.unknown), nil
	}
	may, err := x.isApprover(ctx)
	if err != nil {
		return "", err
	}
	if c.needsApproval() && !may {
		if said, err = x.approveSetting(ctx, c, o); said != "" || err != nil {
			return said, err
		}
	}
	if err := x.chooseValue(ctx, c, o.Value); err != nil {
		return "", err
	}
	value := o.Value
	if now := x.s.settingOf(c.method, c.id); now != nil { // the agent may have set another value
		c, value = now, now.current
	}
	return cmd.name + ": " + valueText(w, c, value), nil
}

// needsApproval reports whether only approvers may change the setting. Agents have modes in which
// they ask for no permission, and may have other options with this effect.
func (c *choice) needsApproval() bool {
	return c.category != modelChoice && c.category != "model_config" && c.category != "thought_level"
}

// isApprover reports whether the message is in the own words of a person who may approve, so that
// nobody needs to be asked.
func (x *turn) isApprover(ctx context.Context) (bool, error) {
	r, err := x.t.Role(ctx)
	e, person := x.t.Envelope, ""
	switch {
	case e.Forwarded != nil:
		r = r.AtMost(role.User)
	case e.User != nil:
		channel, _, _ := strings.Cut(e.SessionKey, ":") // e.Channel does not name the account
		person = channel + ":" + e.User.ID
	}
	return role.May(r, role.Approve, role.ListingOf(x.cfg.Approvers, person)), err
}

// approveSetting asks the approvers about a change of a setting. It returns the reply to the person
// if they do not agree.
func (x *turn) approveSetting(ctx context.Context, c *choice, o *form.Option) (said string, err error) {
	w := x.t.Words
	value := terminal.CodeSpan(terminal.OneLine(o.Name, steps.TitleLength))
	text, refusal := w.Text(words.ApproveSetting, terminal.OneLine(settingName(w, c), steps.TitleLength), value),
		words.SettingUnchanged
	if c.category == modeChoice {
		text, refusal = w.Text(words.ApproveMode, value), words.ModeUnchanged
	}
	return x.approve(ctx, text, refusal)
}

// approve asks a question to which only those who may approve can agree. It returns the reply to
// the person if they do not.
func (x *turn) approve(ctx context.Context, question string, refusal words.Key) (said string, err error) {
	w := x.t.Words
	yes := w.Text(words.ButtonYes)
	answer, err := x.t.Ask(ctx, terminal.Question{
		// A unique ID, so that a stored answer to an earlier question does not answer this one.
		ID: "approve-" + rand.Text(), Text: question, Options: []string{yes, w.Text(words.ButtonNo)},
		Timeout: x.settings.askTimeout(), Approval: true,
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil || answer.Text != yes:
		return w.Text(refusal), nil //nolint:nilerr // no answer is a no
	}
	return "", nil
}

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
