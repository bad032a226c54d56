package gateway

import (
	"context"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/terminal"
)

// directChat is the terminal.Chat of a turn without a store.
type directChat struct {
	terminal.NoChat
	*Direct
	reply
	show   func(channels.Message) error // also works after the end of the turn's context
	stop   func()                       // stops the turn
	memory *sessionMemory
	boards boardDiff
	log    *zap.Logger
}

var _ terminal.Chat = (*directChat)(nil)

// Emit sends a frame immediately. The terminal folds nothing, so a diff that only the summary of
// the turn has is a message.
func (c *directChat) Emit(f terminal.Frame) error {
	if f.Fold != nil && f.Fold.Required && f.Fold.Changes != "" {
		if err := c.show(channels.Message{Kind: channels.Answer, Text: f.Fold.Changes}); err != nil {
			return err
		}
	}
	switch {
	case f.Kind == terminal.Partial && c.ShowDrafts:
		return c.show(channels.Message{Kind: channels.Draft, Text: f.Text})
	case f.Kind == terminal.Partial || f.Kind == terminal.Log || f.Preview || f.Kind == terminal.Progress &&
		c.HideProgress:
		return nil
	}
	if f.Board { // the whole board, repeated, would fill the terminal
		if f.Text = c.boards.newLines(f.Text); f.Text == "" || f.Screen != nil && !c.ShowCaptions {
			return nil
		}
	}
	if f.Kind == terminal.Progress {
		f.Screen = nil
	}
	f.Buttons = nil // the person types commands
	return c.show(directMessage(c.saveProtocolFiles(c.in.Chat, f, c.log)))
}

// Memory lasts until the program ends.
func (c *directChat) Memory() terminal.Memory { return c.memory }

// SessionAccess is that of the user of this machine.
func (c *directChat) SessionAccess(context.Context) (terminal.SessionAccess, error) {
	return terminal.AllSessions, nil
}
