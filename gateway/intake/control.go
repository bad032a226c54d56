package intake

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/display"
	"nanobot/gateway/outbox"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

const (
	// controlTimeout is how long a protocol may take for a command.
	controlTimeout = 10 * time.Second
	// controlWait bounds how long the decision about a message waits for earlier commands of its
	// chat, which may decide who gets the message. It is short because other chats of the channel
	// may wait, too.
	controlWait = time.Second
)

// controls carry out the messages that are for the protocols of agents.
type controls struct {
	*stage
	queue *controlQueue
}

// control is a message that the protocol of an agent may carry out itself.
type control struct {
	in      channels.Incoming
	inbound int64 // its row in the store, once it is stored
	runner  terminal.Controller
	request terminal.ControlRequest
	secret  bool // it is stored without its text
}

// isCommand reports whether the message is a command of the protocol.
func (c *control) isCommand() bool { return c != nil && c.request.Command != "" }

// findControl returns a message as a command or text for the protocol of the running turn's agent,
// or of the agent that answers it. It returns nil if the protocol has no commands, or if the
// message presses another button.
func (cs *controls) findControl(in channels.Incoming) *control {
	runner := cs.controllerFor(in)
	if runner == nil {
		return nil
	}
	text := in.Text
	if in.Press != "" {
		text = in.Press
	}
	c := &control{in: in, runner: runner, request: ParseControl(runner.Controls(), in.Chat.String(), text)}
	if in.Forwarded != nil { // not the sender's own words, so no command
		c.request = terminal.ControlRequest{Chat: in.Chat.String(), Args: text}
	}
	c.request.FittingSize = in.FittingSize
	if !c.isCommand() && (in.Press != "" || strings.TrimSpace(text) == "" || len(in.Media) > 0) {
		return nil
	}
	return c
}

// ParseControl parses a message for a protocol with the given commands. Other messages are text.
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

// controllerFor returns the runner whose protocol carries out the commands of a message: the
// running turn's, if it has commands and the message may reach its agent, else that of the agent
// that answers it. nil: there is none.
func (cs *controls) controllerFor(in channels.Incoming) terminal.Controller {
	if t := cs.o.Lanes.RunningTurn(in.Chat); t != nil && cs.reaches(in, t) {
		if c := t.Controller(); c != nil && len(c.Controls()) > 0 {
			return c
		}
	}
	agent, ok := cs.o.Settings().Agents[in.Answerer.Agent] // a reload may have removed it
	if !ok || len(agent.Runner.Controls()) == 0 {
		return nil
	}
	return agent.Runner
}

// reaches reports whether a message may reach the agent of the running turn: its own agent, or one
// that the person of the turn uses or could choose, unless the message is for another by a command.
func (cs *controls) reaches(in channels.Incoming, t Turn) bool {
	return !cs.o.Choice.HasRoutes() || answers(t, in.Answerer.Agent, in) || !in.Answerer.Command &&
		(in.User.ID == t.Inbound().In.User.ID || slices.Contains(in.Answerer.Choices, t.Agent()))
}

// tryControl has the protocol carry out a message, if the protocol accepts it. The message is
// stored first, so that a duplicate is not carried out again. It reports false for a message that
// is to get a turn.
func (cs *controls) tryControl(ctx context.Context, c *control) (bool, error) {
	if !c.isCommand() {
		cs.queue.await(ctx, c.in.Chat, controlWait)
	}
	if !c.runner.AcceptsControl(c.request.Chat, c.request.Command) {
		return false, nil
	}
	defer cs.o.Lanes.Lock(c.in.Chat)()
	c.secret = c.readsSecret()
	result, err := cs.o.Store.Receive(ctx, store.ReceiveRequest{
		In: c.in, Cursor: c.in.Cursor, Settle: true, Reason: store.ByCommand,
		Secret: c.secret,
	})
	if err != nil {
		return true, fmt.Errorf("store message: %w", err)
	}
	cs.removeMessages(result.Secrets)
	if result.Released {
		cs.o.Lanes.Wake()
	}
	if result.Disposition != store.Settled {
		return true, nil
	}
	c.inbound = result.Inbound.ID
	// What somebody types into the terminal edits its screen. A message of another person is below
	// it.
	if t := cs.o.Lanes.RunningTurn(c.in.Chat); t != nil && c.in.Press == "" && c.in.User.ID != t.Inbound().In.User.ID {
		t.MoveBoardDown()
	}
	// Carrying it out may take seconds, and a channel may receive the messages of all chats one by
	// one.
	cs.queue.enqueue(c.in.Chat, func(ctx context.Context) { cs.runControl(ctx, c) })
	return true, nil
}

// asMessage returns a button press that the protocol did not accept as a text message.
func (c *control) asMessage() channels.Incoming {
	in := c.in
	if in.Press != "" {
		in.Text, in.Press = in.Press, ""
	}
	return in
}

// runControl carries out a command and posts the protocol's reply.
func (cs *controls) runControl(ctx context.Context, c *control) {
	log := cs.o.Log.With(zap.Stringer("chat", c.in.Chat), zap.String("command", c.request.Command))
	cs.eraseTypedAhead(ctx, c)
	if ok, err := cs.o.Access.Admits(ctx, c.in.Chat.Channel, c.in.User.ID); !ok || err != nil {
		return // access was revoked while the command waited for earlier ones
	}
	cs.auditControl(c)
	w := cs.words(c.in)
	c.request.Words = w
	reply, err := callControl(ctx, c)
	if err != nil {
		log.Warn("command not carried out", zap.Error(err))
		reply = terminal.ControlReply{Text: controlFailedText(w, c, err)}
	}
	// An unsent reply is dropped when the person loses access.
	m := &outbox.Message{Message: replyMessage(c.in, reply), About: c.inbound}
	var temp terminal.TempFiles
	defer temp.Remove()
	if m.Media, err = writeFiles(&temp, reply.Files); err != nil {
		log.Warn("files of a reply not written", zap.Error(err))
		m.Text = strings.TrimLeft(m.Text+"\n"+w.Text(words.FileNotWritten), "\n")
	}
	if m.Text == "" && m.Screen == nil && len(m.Media) == 0 {
		return
	}
	var refused error
	err = retry.Until(ctx, func() error {
		err := cs.o.Outbox.Post(ctx, m)
		if err != nil && !errors.Is(err, outbox.ErrNotStored) {
			refused, err = err, nil
		}
		return err
	}, func(err error) { log.Error("reply not stored, will retry", zap.Error(err)) })
	if err = errors.Join(err, refused); err != nil {
		log.Error("reply not posted", zap.Error(err))
	} else if t := cs.o.Lanes.RunningTurn(c.in.Chat); t != nil {
		t.MoveBoardDown()
	}
}

// writeFiles writes the files of a reply to disk. It returns those that it has written before an
// error, too.
func writeFiles(temp *terminal.TempFiles, all []terminal.ControlFile) (files []channels.File, err error) {
	for _, f := range all {
		if len(f.Content) == 0 {
			continue // networks refuse empty files
		}
		file, err := temp.Add(f.Name, f.Content)
		if err != nil {
			return files, err
		}
		files = append(files, channels.File{
			Path: file.Path, Name: filepath.Base(f.Name), Kind: channels.KindOf(f.Name), Size: file.Size, Open: file.Open,
		})
	}
	return files, nil
}

// callControl calls the protocol. A panic fails this command only.
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

// controlFailedText is the answer to a command that failed.
func controlFailedText(w words.Words, c *control, err error) string {
	reason := channels.EscapeMarkdown(strings.TrimRight(channels.FirstLine(err.Error(), maxReasonRunes), "."))
	if c.isCommand() {
		return w.Text(words.CommandFailed, "/"+c.request.Command, reason)
	}
	return w.Text(words.TextFailed, reason)
}

// maxReasonRunes bounds the part of an error that people see, in runes.
const maxReasonRunes = 300

// replyMessage returns a reply as a message to the chat, without its files.
func replyMessage(in channels.Incoming, r terminal.ControlReply) channels.Message {
	return channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: r.Text, ReplyTo: in.ID, Language: in.User.Language,
		Screen: display.Screen(r.Screen), Live: r.Live, Buttons: display.Buttons(r.Buttons),
		Notification: channels.Notification{Silent: true}, // who has sent the command is looking at the chat
	}
}

// eraseTypedAhead removes the text of a message from the store if it was typed before its program
// asked for a password.
func (cs *controls) eraseTypedAhead(ctx context.Context, c *control) {
	if c.secret || !c.readsSecret() {
		return
	}
	c.secret = true
	_ = retry.Until(ctx, func() error {
		secrets, err := cs.o.Store.EraseText(context.WithoutCancel(ctx), c.inbound)
		cs.removeMessages(secrets)
		return err
	}, func(err error) {
		cs.o.Log.Warn("secret not erased, will retry", zap.Stringer("chat", c.in.Chat), zap.Error(err))
	})
}

// auditControl records a message that the protocol is about to carry out.
func (cs *controls) auditControl(c *control) {
	r := audit.Record{Event: audit.Command, Decision: audit.Allowed}
	if c.isCommand() {
		r.Command = "/" + c.request.Command
	}
	if !c.secret {
		r.Text = c.in.Text
	}
	cs.o.Audit.Record(c.in, r)
}
