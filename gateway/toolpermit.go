package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"nanobot/gateway/audit"
	"nanobot/gateway/tools"
	"nanobot/gateway/turn"
	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// maxPermittedCommand limits the characters of a command in a question: a message of Discord
	// has 2,000. A longer command is also sent as a document.
	maxPermittedCommand = 1500
	// maxPermittedLabel limits the characters of a runbook's label in a question.
	maxPermittedLabel = 80
)

// permitCommand asks the approvers of the agent whether nanobot may run the command of a runbook
// that an agent has written, and records the decision in the audit log. The rules of the agent's
// own permissions do not apply: the runbook may come from another agent, and nanobot runs the
// command.
func (c *toolChat) permitCommand(ctx context.Context, label, command string) error {
	by, err := c.askAboutCommand(ctx, label, command)
	decision := "approved by user " + by
	switch {
	case errors.Is(err, tools.ErrDeclined):
		decision = "refused by user " + by
	case err != nil:
		decision = "refused by rule (no answer: " + terminal.OneLine(err.Error(), 80) + ")"
	}
	c.g.auditCaller(ToolCaller{Owner: c.owner}, audit.Record{
		Event: audit.Decided, Title: "runbook command: " + decision + ": " + terminal.AuditQuote(command),
	})
	return err
}

// askAboutCommand asks about a command and returns who has decided. The error is nil if the person
// permits it.
func (c *toolChat) askAboutCommand(ctx context.Context, label, command string) (by string, err error) {
	language := ""
	if t, ok := c.g.lanes.RunningTurn(c.chat); ok {
		language = t.Inbound().In.User.Language
	}
	w := c.g.o.Words.For(language)
	shown, whole := terminal.Excerpt(w, command, maxPermittedCommand)
	var a terminal.Answer
	if !whole {
		err = c.sendCommand(ctx, w, command)
	}
	if err == nil {
		book := terminal.CodeSpan(terminal.Visible(terminal.OneLine(label, maxPermittedLabel)))
		a, err = c.Ask(ctx, terminal.Question{
			// Random, so that a stored answer to an earlier question cannot permit another command.
			ID: "command-" + rand.Text(), Approval: true, OtherText: terminal.OtherTextDismisses,
			Text:    w.Text(words.RunPermitCommand, book) + "\n" + terminal.CodeBlock("sh", shown),
			Options: []string{w.Text(words.ButtonApprove), w.Text(words.ButtonReject)},
		})
	}
	var dismissed *terminal.DismissedError
	switch {
	case err == nil && a.Option == 1:
		return a.By, nil
	case err == nil:
		return a.By, tools.ErrDeclined
	case errors.As(err, &dismissed):
		return dismissed.By, tools.ErrDeclined
	case ctx.Err() != nil || errors.As(err, new(*tools.RateLimitError)):
		return "", err
	}
	return "", &tools.NotAskedError{Err: err}
}

// sendCommand sends a command that the next question shows only in part as a document.
func (c *toolChat) sendCommand(ctx context.Context, w words.Words, command string) error {
	if _, err := c.g.checkAccess(ctx, c.chat); err != nil {
		return err
	}
	if err := c.g.rates.messages.allow(c.chat, 1); err != nil {
		return err
	}
	err := terminal.SendDocument(w, "command.txt", command, c.emit)
	if errors.Is(err, turn.ErrNotRunning) {
		return errNoTurnToAsk
	}
	if err != nil {
		return fmt.Errorf("send the command: %w", err)
	}
	return nil
}
