package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/shown"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

const (
	// controlTimeout is how long a protocol may take for a command.
	controlTimeout = 10 * time.Second
	// controlWait is how long the decision about a message waits for the commands before it in its
	// chat, which may change who the message is for. Other chats of the channel may wait with it.
	controlWait = time.Second
)

// control is a message that the protocol of an agent may carry out itself.
type control struct {
	in      channels.Incoming
	inbound int64 // its row in the store, once it is there
	runner  terminal.Controller
	request terminal.ControlRequest
}

// isCommand reports whether the message is one of the protocol's commands, and no other text.
func (c *control) isCommand() bool { return c != nil && c.request.Command != "" }

// findControl returns what the agent of a chat may carry out itself: the agent of the turn that
// runs, else the one that the chat has chosen. It returns nil if its protocol has no commands, or
// if the message is the press of another button.
func (i *Intake) findControl(ctx context.Context, in channels.Incoming) (*control, error) {
	runner, err := i.controller(ctx, in.Chat)
	if runner == nil || err != nil {
		return nil, err
	}
	text := in.Text
	if in.Press != "" {
		text = in.Press
	}
	c := &control{in: in, runner: runner, request: ParseControl(runner.Controls(), in.Chat.String(), text)}
	if !c.isCommand() && (in.Press != "" || strings.TrimSpace(text) == "" || len(in.Media) > 0) {
		return nil, nil
	}
	return c, nil
}

// ParseControl reads a message for a protocol with some commands. What is none of them is text.
func ParseControl(commands []terminal.Command, chat, text string) terminal.ControlRequest {
	word, args := strings.TrimSpace(text), ""
	if at := strings.IndexAny(word, " \t\r\n"); at >= 0 {
		word, args = word[:at], strings.TrimSpace(word[at:])
	}
	for _, c := range commands {
		if strings.EqualFold(word, "/"+c.Name) {
			return terminal.ControlRequest{Chat: chat, Command: c.Name, Args: args}
		}
	}
	return terminal.ControlRequest{Chat: chat, Args: text}
}

// controller returns the runner whose protocol carries out the commands of a chat: that of the turn
// that runs, if it has any, else that of the agent which the chat has chosen. nil: there is none.
func (i *Intake) controller(ctx context.Context, chat channels.Chat) (terminal.Controller, error) {
	agents := i.o.Settings().Agents
	if t := i.o.Lanes.Running(chat); t != nil {
		if c := t.Controller(); c != nil && len(c.Controls()) > 0 {
			return c, nil
		}
	}
	found := false
	for _, agent := range agents {
		found = found || len(agent.Runner.Controls()) > 0
	}
	if !found { // so that the store need not be asked
		return nil, nil
	}
	name, _, err := i.choice(ctx, chat)
	agent, ok := agents[name] // a reload may just have added it
	if err != nil || !ok || len(agent.Runner.Controls()) == 0 {
		return nil, err
	}
	return agent.Runner, nil
}

// carryOut has the protocol carry out a message, if it accepts it. The message is stored first, so
// that it acts once, however often it is delivered. It reports false for a message that is to get a
// turn.
func (i *Intake) carryOut(ctx context.Context, c *control) (bool, error) {
	if !c.isCommand() {
		i.controls.await(ctx, c.in.Chat, controlWait)
	}
	if !c.runner.AcceptsControl(c.request.Chat, c.request.Command) {
		return false, nil
	}
	defer i.o.Lanes.Lock(c.in.Chat)()
	result, err := i.o.Store.Receive(ctx, store.ReceiveRequest{In: c.in, Cursor: c.in.Cursor, Settle: true})
	if err != nil {
		return true, fmt.Errorf("store message: %w", err)
	}
	if result.Disposition != store.Settled {
		return true, nil
	}
	c.inbound = result.Inbound.ID
	r := audit.Record{Event: audit.Command, Decision: audit.Allowed, Text: c.in.Text}
	if c.isCommand() {
		r.Command = "/" + c.request.Command
	}
	i.o.Audit.Record(c.in, r)
	if t := i.o.Lanes.Running(c.in.Chat); t != nil {
		t.MoveBoardDown() // the person's message is below the board
	}
	// It may take seconds, and a channel may receive the messages of all its chats one by one.
	i.controls.do(c.in.Chat, func(ctx context.Context) { i.runControl(ctx, c) })
	return true, nil
}

// asMessage returns a press that the protocol did not accept as the message that a person would
// write instead.
func (c *control) asMessage() channels.Incoming {
	in := c.in
	if in.Press != "" {
		in.Text, in.Press = in.Press, ""
	}
	return in
}

// runControl carries out a command and posts what the protocol replies.
func (i *Intake) runControl(ctx context.Context, c *control) {
	log := i.o.Log.With(zap.Stringer("chat", c.in.Chat), zap.String("command", c.request.Command))
	if ok, err := i.Admits(ctx, c.in.Chat.Channel, c.in.User.ID); !ok || err != nil {
		return // access was revoked while the command waited for those before it
	}
	reply, err := callControl(ctx, c)
	if err != nil {
		log.Warn("command not carried out", zap.Error(err))
		reply = terminal.ControlReply{Text: controlFailed(c, err)}
	}
	// A reply that was not sent yet is dropped with the person's access.
	m := &outbox.Message{Message: replyMessage(c.in, reply), About: c.inbound}
	files, err := writeFiles(reply.Files)
	if err != nil {
		log.Warn("files of a reply not written", zap.Error(err))
		m.Text = strings.TrimLeft(m.Text+"\n⚠ A file was not sent: it could not be written to the bot's disk.", "\n")
	}
	m.Media = files.files
	defer func() {
		if err := files.remove(); err != nil {
			log.Warn("temporary files stay", zap.Error(err))
		}
	}()
	if m.Text == "" && m.Screen == nil && len(m.Media) == 0 {
		return
	}
	var refused error
	err = retry.Until(ctx, func() error {
		err := i.o.Outbox.Post(ctx, m)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { log.Error("reply not stored, will retry", zap.Error(err)) })
	if err = errors.Join(err, refused); err != nil {
		log.Error("reply not posted", zap.Error(err))
	}
}

// callControl calls the protocol. A panic is a failure of this command and of nothing else.
func callControl(ctx context.Context, c *control) (reply terminal.ControlReply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	return c.runner.Control(ctx, c.request)
}

// controlFailed is what a person is told whose command was not carried out.
func controlFailed(c *control, err error) string {
	what := "That"
	if c.isCommand() {
		what = "/" + c.request.Command
	}
	return fmt.Sprintf("%s did not work: %s.", what, channels.Literal(strings.TrimRight(channels.FirstLine(err.Error(), longestReason), ".")))
}

// longestReason bounds what people are told of an error, in runes.
const longestReason = 300

// replyMessage is a reply as a message to the chat. Its files are to be added.
func replyMessage(in channels.Incoming, r terminal.ControlReply) channels.Message {
	return channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: r.Text, ReplyTo: in.ID, Screen: shown.Screen(r.Screen), Buttons: shown.Buttons(r.Buttons),
	}
}

// controlsOf returns the commands that an agent's protocol carries out itself.
func (i *Intake) controlsOf(agent string) []terminal.Command {
	if runner := i.o.Settings().Agents[agent].Runner; runner != nil {
		return runner.Controls()
	}
	return nil
}

// Menu lists what a channel's menu shows in all chats: the gateway's commands, and where one agent
// answers everywhere, those that its protocol carries out.
func (i *Intake) Menu() []channels.Command {
	all := i.Commands()
	if i.severalAgents() {
		return all
	}
	for _, c := range i.AgentCommands(store.DefaultAgent, terminal.AgentInfo{}) {
		all = slices.Insert(all, len(all)-1, c) // /help is the last
	}
	return all
}
