package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// AutomaticMessage is a message that nobody has typed. It passes through the same intake, lanes and
// outbox as a person's.
type AutomaticMessage struct {
	Origin channels.Origin
	Chat   channels.Chat
	Maker  string // see channels.Incoming
	Text   string // Markdown, or the prompt of an agent
	// Key, if not "", makes the message idempotent: a second one with the same origin and key that
	// is sent to a chat, or to an agent in it, has no effect.
	Key string
	// Limit is how many messages of the origin may wait; 0: any number.
	Limit int
	// Occurrences are stored together with the message; see store.ReceiveRequest.
	Occurrences []store.Occurrence

	// Files are open; the callee closes them. Those of a message to an agent are saved in the
	// folder of the chat.
	Files []channels.File

	// Of a message that is sent:
	Silent bool
	// Buttons are texts that a person can say by pressing a button. One that begins with a slash is
	// carried out like a typed one, unless an agent offers it: nobody should run a command because
	// of an agent's words.
	Buttons []string

	// Of a message to an agent:
	Agent      string   // "": the one that the chat has chosen
	Media      []string // absolute paths in the folder of the chat
	MediaNames []string // as in channels.Incoming
	Quiet      bool     // see channels.Incoming
	Runbook    string   // starts a run of this runbook instead of an agent; "": none
}

// Accepted is the result of an AutomaticMessage that is on disk.
type Accepted struct {
	Inbound   int64
	Duplicate bool // a message with the same key was accepted before
}

// The reasons for which an AutomaticMessage is refused. Their texts are for operators.
var (
	ErrNoChannel = errors.New("no such channel is enabled")
	ErrBadChat   = errors.New("there is no such chat")
	ErrBadButton = errors.New("a button is not possible")
	ErrNoAgent   = errors.New("no such agent is configured")
	ErrQueueFull = errors.New("too many messages of this origin wait already")
	ErrEmpty     = errors.New("the message has no text and no files")
)

// Send stores a message and has it sent to its chat. When it returns nil, the message is on disk.
func (g *Gateway) Send(ctx context.Context, m AutomaticMessage) (Accepted, error) {
	defer closeFiles(m.Files)
	m.Buttons = slices.Clone(m.Buttons)
	for i, label := range m.Buttons {
		m.Buttons[i] = strings.Join(strings.Fields(terminal.Clean(label)), " ")
	}
	if err := errors.Join(g.checkChat(m.Chat), checkButtons(m)); err != nil {
		return Accepted{}, err
	}
	if strings.TrimSpace(m.Text) == "" && len(m.Files) == 0 {
		return Accepted{}, ErrEmpty
	}
	out := &outbox.Message{Message: channels.Message{
		Chat: m.Chat, Kind: channels.Answer, Text: m.Text, Media: m.Files,
		Notification: channels.Notification{Silent: m.Silent},
	}, MediaRequired: true}
	if m.Key != "" { // a message to an agent may have the same key
		m.Key = "send " + m.Key
	}
	request := g.newRequest(m)
	request.In.Text, request.Settle, request.Reason = "", true, store.BySend // the text is in the transcript
	if len(m.Buttons) == 0 {
		var err error
		if request.Answer, request.Entry, err = g.outbox.Prepare(ctx, out); err != nil {
			return Accepted{}, err
		}
		if len(request.Answer) == 0 { // such as only invisible characters
			return Accepted{}, ErrEmpty
		}
	}
	accepted, err := g.receiveAutomatic(ctx, request, "")
	if err == nil && !accepted.Duplicate {
		request.In.User = m.Origin.User()
		g.o.Audit.Record(request.In, audit.Record{
			Event: audit.Sent, Decision: audit.Allowed, Run: accepted.Inbound, Text: m.Text,
			Out: audit.Size{Bytes: len(m.Text), Media: len(m.Files)},
		})
	}
	if err != nil || len(m.Buttons) == 0 || accepted.Inbound == 0 {
		return accepted, err
	}
	// The buttons name the stored message. If the message was stored and not posted before, a
	// second call with the same key posts it.
	out.Inbound, out.Sequence, out.Once = accepted.Inbound, 1, true
	out.AddChoices(m.Buttons)
	for i, label := range m.Buttons {
		if m.isCommand(label) {
			out.Buttons[i].Data = press.Do(label)
		}
	}
	return accepted, g.outbox.Post(ctx, out)
}

// isCommand reports whether a press of a button is carried out like a typed text.
func (m AutomaticMessage) isCommand(label string) bool {
	return strings.HasPrefix(label, "/") && m.Origin != channels.ByAgent
}

// The limits of buttons. Networks show long labels in part.
const maxButtons, maxLabel = 20, 200

// checkButtons returns ErrBadButton if the message cannot have its buttons.
func checkButtons(m AutomaticMessage) error {
	if len(m.Buttons) > maxButtons {
		return fmt.Errorf("%w: these are %d, and %d is the most", ErrBadButton, len(m.Buttons), maxButtons)
	}
	for _, label := range m.Buttons {
		switch {
		case strings.TrimSpace(label) == "":
			return fmt.Errorf("%w: its text is empty", ErrBadButton)
		case len(label) > maxLabel:
			return fmt.Errorf("%w: %q has %d bytes, and %d is the most", ErrBadButton, label, len(label), maxLabel)
		case m.isCommand(label) && press.Do(label) == "":
			return fmt.Errorf("%w: the command %q has %d bytes, and %d is the most", ErrBadButton, label, len(label),
				press.MaxData-len(press.Do("")))
		}
	}
	return nil
}

// Ask stores a message and has an agent work on it in its chat, or starts a run. When it returns
// nil, the message is on disk.
func (g *Gateway) Ask(ctx context.Context, m AutomaticMessage) (Accepted, error) {
	defer closeFiles(m.Files)
	if err := g.checkChat(m.Chat); err != nil {
		return Accepted{}, err
	}
	if _, ok := g.currentSettings().Agents[cmp.Or(m.Agent, store.DefaultAgent)]; !ok {
		return Accepted{}, fmt.Errorf("%w: %s", ErrNoAgent, m.Agent)
	}
	if strings.TrimSpace(m.Text) == "" && len(m.Media)+len(m.Files) == 0 && m.Runbook == "" {
		return Accepted{}, ErrEmpty
	}
	discard, err := g.saveFiles(&m)
	if err != nil {
		return Accepted{}, fmt.Errorf("save the files: %w", err)
	}
	accepted, err := g.receiveAutomatic(ctx, g.newRequest(m), m.Runbook)
	if err != nil || accepted.Duplicate {
		discard()
	}
	return accepted, err
}

// saveFiles saves the open files of a message to an agent in the folder of its chat. discard
// removes them again.
func (g *Gateway) saveFiles(m *AutomaticMessage) (discard func(), err error) {
	if len(m.Files) == 0 {
		return func() {}, nil
	}
	saver, ok := g.o.Channels[m.Chat.Channel].(channels.FileSaver)
	if !ok {
		return nil, errNoFileSaver
	}
	paths, discard, err := saver.SaveFiles(m.Chat, m.Files)
	m.Media = append(m.Media, paths...)
	for _, f := range m.Files {
		m.MediaNames = append(m.MediaNames, f.Name)
	}
	return discard, err
}

// deliver has an agent work on a message that names one or for which a rule does, and sends others.
func (g *Gateway) deliver(ctx context.Context, m AutomaticMessage) (Accepted, error) {
	isPrompt := m.Agent != "" || m.Runbook != ""
	if !isPrompt {
		rule, err := g.choice.Find(ctx, g.newRequest(m).In)
		if err != nil {
			return Accepted{}, err
		}
		isPrompt = rule.NamesOrigin()
	}
	if isPrompt {
		return g.Ask(ctx, m)
	}
	return g.Send(ctx, m)
}

func (g *Gateway) checkChat(chat channels.Chat) error {
	ch, ok := g.o.Channels[chat.Channel]
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoChannel, chat.Channel)
	}
	if p, ok := ch.(channels.ChatChecker); ok {
		if err := p.CheckChat(chat.ID); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrBadChat, chat, err)
		}
	}
	return nil
}

func (g *Gateway) newRequest(m AutomaticMessage) store.ReceiveRequest {
	request := store.ReceiveRequest{
		In: channels.Incoming{
			Chat: m.Chat, Origin: m.Origin, Maker: m.Maker, Text: m.Text, Media: m.Media, MediaNames: m.MediaNames,
			Quiet: m.Quiet,
		},
		Agent: m.Agent, OriginLimit: m.Limit, Occurrences: m.Occurrences,
	}
	if m.Key != "" {
		request.Key = m.Origin.String() + " " + m.Key
	}
	return request
}

func (g *Gateway) receiveAutomatic(ctx context.Context, request store.ReceiveRequest, runbook string) (
	Accepted, error,
) {
	result, err := g.intake.ReceiveAutomatic(ctx, request, runbook)
	switch {
	case err != nil:
		return Accepted{}, err
	case result.Disposition == store.Full:
		return Accepted{}, ErrQueueFull
	}
	return Accepted{result.Inbound.ID, result.Disposition == store.Duplicate}, nil
}

// deliveryPoll is how often AwaitDelivery reads the state of a message.
const deliveryPoll = 200 * time.Millisecond

// AwaitDelivery waits until the turn of an accepted message has ended and all its messages were
// sent. The error says why one was not sent, or how the turn has failed.
func (g *Gateway) AwaitDelivery(ctx context.Context, inbound int64) error {
	for {
		done, err := g.deliveryOutcome(ctx, inbound)
		if done || err != nil {
			return err
		}
		if !retry.Sleep(ctx, deliveryPoll) {
			return context.Cause(ctx)
		}
	}
}

// deliveryOutcome reports whether nothing of a message is left to be done, and what has failed.
func (g *Gateway) deliveryOutcome(ctx context.Context, inbound int64) (done bool, err error) {
	i, found, err := g.o.Store.Inbound(ctx, inbound)
	if err != nil || found && i.Ended.IsZero() {
		return false, err
	}
	deliveries, err := g.o.Store.Deliveries(ctx, inbound)
	if err != nil {
		return false, err
	}
	for _, d := range deliveries {
		switch d.State {
		case store.Failed, store.Unknown:
			return true, fmt.Errorf("not delivered: %s", d.Err)
		case store.Sent:
		default:
			return false, nil
		}
	}
	if i.State == store.Dead || i.State == store.Interrupted {
		return true, fmt.Errorf("not answered: its turn was %s", cmp.Or(i.Outcome.Status, string(i.State)))
	}
	return true, nil
}

// closeFiles closes files that are not copied.
func closeFiles(files []channels.File) {
	for _, f := range files {
		if f.Open != nil {
			_ = f.Open.Close()
		}
	}
}
