package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/posts"
	"nanobot/gateway/tools"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// maxAgentAsks is how many messages of agents' processes to agents may wait in a chat.
const maxAgentAsks = 20

// The reasons for which the message of a process is refused. Their texts are for the process.
var (
	errNoChatNamed = errors.New("add --chat CHANNEL:ID: no chat is this process's own")
	errWaitsItself = errors.New("the message waits for the end of the turn that this process belongs to, so that --wait " +
		"would never end; leave it out")
	errNoFileSaver = errors.New("this channel takes no files for agents")
	errTooLong     = fmt.Errorf("the text is longer than %d bytes", posts.MaxText)
)

// usageErrors say that the request itself is wrong.
var usageErrors = []error{
	ErrNoChannel, ErrBadChat, ErrBadButton, ErrNoAgent, ErrEmpty, errNoChatNamed, errTooLong,
}

// ServePost accepts one message of a process, and closes the connection.
func (g *Gateway) ServePost(ctx context.Context, conn *net.UnixConn, c ToolCaller) error {
	defer conn.Close() //nolint:errcheck // both sides are done
	request, passed, err := posts.Receive(conn)
	if err != nil {
		_ = posts.Reply{Error: err.Error()}.Send(conn) // the client may be gone
		return err
	}
	p := post{g: g, caller: c, request: request}
	accepted, err := p.accept(ctx, passed)
	if !c.Operator {
		g.auditTool(c, p.name(), err)
	}
	if sendErr := newReply(err).Send(conn); sendErr != nil || err != nil || !request.Wait {
		return errors.Join(sendErr, err)
	}
	return g.replyWhenDelivered(ctx, conn, accepted.Inbound)
}

// newReply returns the reply for an error; nil: the message is on disk.
func newReply(err error) posts.Reply {
	if err == nil {
		return posts.Reply{}
	}
	reply := posts.Reply{Error: err.Error()}
	reply.Usage = slices.ContainsFunc(usageErrors, func(usage error) bool { return errors.Is(err, usage) })
	return reply
}

// replyWhenDelivered sends the second reply. It returns without one when the client goes away.
func (g *Gateway) replyWhenDelivered(ctx context.Context, conn *net.UnixConn, inbound int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	})
	defer conn.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // ends the goroutine; a closed connection does, too
	err := g.AwaitDelivery(ctx, inbound)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return newReply(err).Send(conn)
}

// post is one message of a process.
type post struct {
	g       *Gateway
	caller  ToolCaller
	request posts.Request
}

func (p *post) name() string {
	if p.request.Ask {
		return "ask"
	}
	return "send"
}

// accept stores the message. passed are the files of the operator's process, which are closed.
func (p *post) accept(ctx context.Context, passed []*os.File) (Accepted, error) {
	defer closePassed(passed)
	chat, err := p.chat()
	if err != nil {
		return Accepted{}, err
	}
	r := p.request
	if len(r.Text) > posts.MaxText {
		return Accepted{}, errTooLong
	}
	m := AutomaticMessage{
		Origin: channels.ByAsk, Chat: chat, Text: strings.ToValidUTF8(r.Text, "\uFFFD"), Key: r.Key, Agent: r.Agent,
		Silent: r.Silent, Buttons: r.Buttons,
	}
	if err := p.g.checkChat(chat); err != nil {
		return Accepted{}, err
	}
	if !p.caller.Operator {
		if err := p.restrict(ctx, &m); err != nil {
			return Accepted{}, err
		}
	}
	if m.Files, err = p.files(ctx, passed); err != nil {
		return Accepted{}, err
	}
	if r.Ask {
		return p.g.Ask(ctx, m)
	}
	return p.g.Send(ctx, m)
}

// closePassed closes files that may be closed already.
func closePassed(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// chat returns the chat that the message is for. A process of an agent has only its own.
func (p *post) chat() (channels.Chat, error) {
	own := p.caller.chat()
	if p.request.Chat == "" {
		if own.Channel == "" {
			return own, errNoChatNamed
		}
		return own, nil
	}
	chat, ok := channels.ParseChat(p.request.Chat)
	switch {
	case !ok:
		return chat, fmt.Errorf("%w: %q is not CHANNEL:ID", ErrBadChat, p.request.Chat)
	case !p.caller.Operator && chat != own:
		return chat, fmt.Errorf("a process of an agent can write only to its own chat, %s", own)
	}
	return chat, nil
}

// restrict applies the rules for processes of agents: somebody in the chat must have access, and
// is responsible for the message; and there are limits.
func (p *post) restrict(ctx context.Context, m *AutomaticMessage) error {
	last, err := p.g.checkAccess(ctx, m.Chat)
	if err != nil {
		return err
	}
	running, runs := p.g.lanes.RunningTurn(m.Chat)
	if runs && p.request.Ask && p.request.Wait && running.Agent() == p.caller.Owner.Agent {
		return errWaitsItself
	}
	if err := p.g.rates.messages.allow(m.Chat, 1); err != nil {
		return err
	}
	inbound, _, err := p.g.o.Store.Inbound(ctx, last)
	if err != nil {
		return err
	}
	if runs {
		inbound = running.Inbound()
	}
	m.Maker, _ = inbound.In.Responsible()
	m.Origin, m.Limit, m.Text = channels.ByAgent, maxAgentAsks, terminal.Clean(m.Text)
	return nil
}

// files returns the open files of the message: those that the operator's process has passed, or
// those of an agent that may be sent.
func (p *post) files(ctx context.Context, passed []*os.File) ([]channels.File, error) {
	if p.caller.Operator {
		return p.checkPassed(passed)
	}
	wanted := make([]tools.File, len(p.request.Files))
	for i, path := range p.request.Files {
		wanted[i].Path = path
	}
	chat := &toolChat{g: p.g, chat: p.caller.chat(), owner: p.caller.Owner, dir: p.caller.Dir}
	open, err := chat.openFiles(ctx, wanted)
	return turn.FrameMessage(terminal.Frame{Checked: open}).Media, err
}

// checkPassed returns the passed files under their names. Only regular files are read, since others
// may be endless or block.
func (p *post) checkPassed(passed []*os.File) (files []channels.File, err error) {
	if len(passed) != len(p.request.Files) {
		return nil, fmt.Errorf("%d files were passed, and %d named", len(passed), len(p.request.Files))
	}
	for _, f := range passed {
		name := f.Name()
		info, err := f.Stat()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q cannot be read: %w", name, err)
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%q is not a regular file", name)
		case info.Size() == 0 && !p.request.Ask: // networks refuse them
			return nil, fmt.Errorf("%q is empty", name)
		}
		files = append(files, channels.File{Name: name, Kind: channels.KindOf(name), Size: info.Size(), Open: f})
	}
	return files, nil
}
