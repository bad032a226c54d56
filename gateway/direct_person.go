package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// awaitPerson returns terminal.Request.AwaitPerson: what the person says while the turn waits is
// offered to the agent's protocol, unless it waits for something else, such as the answer to a
// question. One who leaves before they have said anything stops the turn.
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

// listen offers what the person says until ctx ends or they leave.
func (g *Direct) listen(ctx context.Context, r reply, stop func()) {
	heard, blank := false, "" // blank lines, which are no message, but may be within what the lines make up
	for {
		g.asking.Lock()
		in, err := g.Listen(ctx)
		g.asking.Unlock()
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
		// It was taken from the terminal, and goes nowhere else when the wait ends now.
		read, err := g.offer(context.WithoutCancel(ctx), r, in)
		if err != nil {
			g.Log.Warn("chat not notified", zap.Error(err))
			return
		}
		heard = heard || read
	}
}

// offer offers what the person said to the agent's protocol: as a command, else as a message. It
// reports whether it was a message that the turn reads. The error says that the person could not be
// told.
func (g *Direct) offer(ctx context.Context, r reply, in channels.Incoming) (read bool, err error) {
	if done, err := g.Control(ctx, r.ch, in); done || err != nil {
		return false, err
	}
	read, err = g.Runner.ReadMessage(ctx, turn.PersonMessage(in))
	if err != nil {
		g.Log.Warn("message not read", zap.Stringer("chat", in.Chat), zap.Error(err))
		return false, r.send(ctx, channels.Message{Kind: channels.Answer, Text: fmt.Sprintf("That did not work: %v.", err)})
	}
	if !read {
		return false, r.send(ctx, channels.Message{Kind: channels.Answer, Text: "The agent does not read messages now."})
	}
	return read, nil
}
