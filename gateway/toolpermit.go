package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"unicode/utf8"

	"nanobot/gateway/tools"
	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// maxPermittedCommand limits the characters of a command that a person is asked about: a
	// question shows it whole, and a message of Discord has 2,000.
	maxPermittedCommand = 1500
	// maxPermittedLabel limits the characters of a runbook's label in a question.
	maxPermittedLabel = 80
)

var errLongCommand = fmt.Errorf("an agent has written this runbook, so a person must permit its commands, "+
	"and this one has more than the %d characters that a question can show whole", maxPermittedCommand)

// permitCommand asks the approvers of the agent whether nanobot may run the command of a runbook
// that an agent has written. The rules of the agent's own permissions do not apply: the runbook may
// come from another agent, and nanobot runs the command.
func (c *toolChat) permitCommand(ctx context.Context, label, command string) error {
	shown := terminal.Visible(command)
	if utf8.RuneCountInString(shown) > maxPermittedCommand {
		return &tools.NotAskedError{Err: errLongCommand}
	}
	language := ""
	if t, ok := c.g.lanes.RunningTurn(c.chat); ok {
		language = t.Inbound().In.User.Language
	}
	w := c.g.o.Words.For(language)
	book := terminal.CodeSpan(terminal.Visible(terminal.OneLine(label, maxPermittedLabel)))
	a, err := c.Ask(ctx, terminal.Question{
		// Random, so that a stored answer to an earlier question cannot permit another command.
		ID: "command-" + rand.Text(), Approval: true, OtherText: terminal.OtherTextDismisses,
		Text:    w.Text(words.RunPermitCommand, book) + "\n" + terminal.CodeBlock("sh", shown),
		Options: []string{w.Text(words.ButtonApprove), w.Text(words.ButtonReject)},
	})
	switch {
	case err == nil && a.Option == 1:
		return nil
	case err == nil || errors.As(err, new(*terminal.DismissedError)):
		return tools.ErrDeclined
	case ctx.Err() != nil || errors.As(err, new(*tools.RateLimitError)):
		return err
	}
	return &tools.NotAskedError{Err: err}
}
