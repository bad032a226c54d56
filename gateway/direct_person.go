package gateway

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/turn"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// AwaitPerson offers the person's messages to the agent's protocol while the turn waits, except
// answers to questions. A person who leaves without a message stops the turn.
func (c *directChat) AwaitPerson(ctx context.Context) (resume func(context.Context) error) {
	if c.Listen == nil {
		return nil
	}
	if reads, err := c.Runner.ReadMessage(ctx, terminal.PersonMessage{Chat: c.in.Chat.String()}); !reads || err != nil {
		return context.Cause
	}
	waiting, end := context.WithCancel(ctx)
	var listening sync.WaitGroup
	listening.Go(func() { c.listen(waiting) })
	return func(ctx context.Context) error {
		end()
		listening.Wait()
		return context.Cause(ctx)
	}
}

// listen offers the person's messages until ctx ends or they leave.
func (c *directChat) listen(ctx context.Context) {
	heard, blank := false, "" // blank lines are not messages, but may be part of a text of several lines
	for {
		c.inputMu.Lock()
		in, err := c.Listen(ctx)
		c.inputMu.Unlock()
		if errors.Is(err, io.EOF) && !heard {
			c.stop()
		}
		if err != nil {
			return
		}
		if strings.TrimSpace(in.Text) == "" && len(in.Media) == 0 {
			blank += in.Text + "\n"
			continue
		}
		if heard {
			in.Text = blank + in.Text
		}
		blank = ""
		// The message was read from the terminal, and would be lost if the wait ended now.
		read, err := c.offer(context.WithoutCancel(ctx), in)
		if err != nil {
			c.Log.Warn("chat not notified", zap.Error(err))
			return
		}
		heard = heard || read
	}
}

// offer passes a message to the agent's protocol: as a command, else as a message. It reports
// whether the turn has read it. An error means that the person could not be told.
func (c *directChat) offer(ctx context.Context, in channels.Incoming) (read bool, err error) {
	if done, err := c.Control(ctx, c.ch, in); done || err != nil {
		return false, err
	}
	read, err = c.Runner.ReadMessage(ctx, turn.PersonMessage(in))
	if err != nil {
		c.Log.Warn("message not read", zap.Stringer("chat", in.Chat), zap.Error(err))
		return false, c.send(ctx, channels.Message{Kind: channels.Answer, Text: c.Words.Text(words.TextFailed, err)})
	}
	if !read {
		return false, c.send(ctx, channels.Message{Kind: channels.Answer, Text: c.Words.Text(words.ChatNotRead)})
	}
	return read, nil
}
