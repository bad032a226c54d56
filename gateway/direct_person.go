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

// awaitPerson returns terminal.Request.AwaitPerson. While the turn waits, the person's messages are
// offered to the agent's protocol, except answers to questions. A person who leaves without a
// message stops the turn.
func (g *Direct) awaitPerson(r reply, stop func()) func(context.Context) func(context.Context) error {
	if g.Listen == nil {
		return nil
	}
	return func(ctx context.Context) func(context.Context) error {
		if reads, err := g.Runner.ReadMessage(ctx, terminal.PersonMessage{Chat: r.in.Chat.String()}); !reads || err != nil {
			return context.Cause
		}
		waiting, end := context.WithCancel(ctx)
		var listening sync.WaitGroup
		listening.Go(func() { g.listen(waiting, r, stop) })
		return func(ctx context.Context) error {
			end()
			listening.Wait()
			return context.Cause(ctx)
		}
	}
}

// listen offers the person's messages until ctx ends or they leave.
func (g *Direct) listen(ctx context.Context, r reply, stop func()) {
	heard, blank := false, "" // blank lines are not messages, but may be part of a text of several lines
	for {
		g.inputMu.Lock()
		in, err := g.Listen(ctx)
		g.inputMu.Unlock()
		if errors.Is(err, io.EOF) && !heard {
			stop()
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
		read, err := g.offer(context.WithoutCancel(ctx), r, in)
		if err != nil {
			g.Log.Warn("chat not notified", zap.Error(err))
			return
		}
		heard = heard || read
	}
}

// offer passes a message to the agent's protocol: as a command, else as a message. It reports
// whether the turn has read it. An error means that the person could not be told.
func (g *Direct) offer(ctx context.Context, r reply, in channels.Incoming) (read bool, err error) {
	if done, err := g.Control(ctx, r.ch, in); done || err != nil {
		return false, err
	}
	read, err = g.Runner.ReadMessage(ctx, turn.PersonMessage(in))
	if err != nil {
		g.Log.Warn("message not read", zap.Stringer("chat", in.Chat), zap.Error(err))
		return false, r.send(ctx, channels.Message{Kind: channels.Answer, Text: g.Words.Text(words.TextFailed, err)})
	}
	if !read {
		return false, r.send(ctx, channels.Message{Kind: channels.Answer, Text: g.Words.Text(words.ChatNotRead)})
	}
	return read, nil
}
