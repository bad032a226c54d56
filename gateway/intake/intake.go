// Package intake decides what happens with each message that a channel receives: it refuses
// outsiders, runs the gateway's own commands, matches answers with questions, and queues all other
// messages for turns. It does not know how turns run or how messages are sent.
package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/audit"
	"nanobot/gateway/choice"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Store is the part of the store that intake uses.
type Store interface {
	store.Access
	StorePart(ctx context.Context, in channels.Incoming) error
	SetCursor(ctx context.Context, channel, cursor string) error
	Member() string
	Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
	store.Changes
	Inbound(ctx context.Context, id int64) (store.Inbound, bool, error)
	Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	CountPending(ctx context.Context, chat channels.Chat) (int, error)
	Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	SettlePending(ctx context.Context, id int64) error
	EraseText(ctx context.Context, id int64) ([]store.Transient, error)
	Known(ctx context.Context, chat channels.Chat, id string) (bool, error)
	Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error)
	Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error)
	IsResendable(ctx context.Context, chat channels.Chat, id int64) (bool, error)
	Question(ctx context.Context, id string) (store.Question, bool, error)
	AsksSecret(ctx context.Context, chat channels.Chat, receipt string) (bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
	Forward(ctx context.Context, in channels.Incoming) error
	ReadChat(ctx context.Context, chat channels.Chat, memories ...string) (store.ChatState, error)
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
	LoadDetails(ctx context.Context, inbound int64) (string, error)
	Deliveries(ctx context.Context, inbound int64) ([]store.Delivery, error)
	store.Usage
	Search(ctx context.Context, f store.SearchFilter) ([]store.Found, error)
}

// Lanes queues messages and runs their turns.
type Lanes interface {
	// Accept stores a message, and starts its turn if a slot is free and the chat's queue is empty.
	Accept(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
	// Lock locks a chat: until unlock is called, no other message of the chat is queued, no other
	// command is carried out, and no claimed turn starts to work.
	Lock(chat channels.Chat) (unlock func())
	// AwaitClaim waits until the turn of a claim in progress can be found.
	AwaitClaim()
	// Wake tells the dispatcher that a message may have become pending.
	Wake()
	// RunningTurn returns the running turn of a chat, or nil.
	RunningTurn(chat channels.Chat) Turn
}

// Turn is a running turn.
type Turn interface {
	Inbound() store.Inbound
	// Agent returns the name of the agent that works on the message.
	Agent() string
	StartTime() time.Time
	// Cancel ends the turn. The cause decides which message the chat gets.
	Cancel(cause error)
	// ResetMemory calls do, which clears the chat's memories on disk. If that succeeds, the turn
	// saves nothing more.
	ResetMemory(do func() error) error
	// MoveBoardDown is called when a person has written a message below the board, which is sent
	// again below it when there are too many.
	MoveBoardDown()
	// Inject passes a message to the running agent, and reports whether it was accepted.
	// InjectedCount returns the number of injected messages that are pending in the store, and
	// UnreadCount the number of those that the agent has not read yet.
	Inject(inbound store.Inbound) bool
	InjectedCount() int
	UnreadCount() int
	// WithdrawMessage withdraws one injected message. It reports false if the agent may have read
	// the message.
	WithdrawMessage(inbound int64) bool
	// Controller returns the runner of the turn if its protocol can carry out commands itself, else
	// nil.
	Controller() terminal.Controller
	// MessageReader returns the runner of the turn if its protocol reads messages and the turn was
	// not told to end, else nil.
	MessageReader() terminal.MessageReader
	// WaitingSince returns when the turn began to wait for messages; zero: it does not wait.
	WaitingSince() time.Time
	// OfferQueueAgain has OfferQueue called again until it succeeds, while the turn waits for
	// messages.
	OfferQueueAgain()
}

// Outbox sends the gateway's own messages.
type Outbox interface {
	Post(ctx context.Context, m *outbox.Message) error
	// Wake says that a message for a chat was stored.
	Wake(chat channels.Chat)
	// Reopen says that somebody has written in a chat, which may accept messages again.
	Reopen(chat channels.Chat)
	// CloseQuestion closes a question without an answer. ShowOutcome edits its message to show its
	// outcome, which CloseQuestion does, too.
	CloseQuestion(ctx context.Context, q store.Question, how string) (bool, error)
	ShowOutcome(q store.Question, how string)
	// ClosePickers closes the open pickers of a chat, except that of an inbound message.
	ClosePickers(ctx context.Context, chat channels.Chat, except int64, w words.Words) error
	// Remove removes a transient message in the background.
	Remove(t store.Transient)
}

// Notices tell people that their messages wait.
type Notices interface {
	Announce(inbound store.Inbound)
	// Recheck is called when a message has left the queue of a chat.
	Recheck(chat channels.Chat)
}

// Agent is an agent in the current settings.
type Agent struct {
	Runner Runner
	// Injectable says that the agent accepts messages while it runs.
	Injectable bool
}

// Runner runs an agent.
type Runner interface {
	// StopCommands ends the background commands of the agent in a chat, and returns their number,
	// and whether it told the agent to stop other work.
	StopCommands(chat string) (ended int, told bool)
	// The commands that a stopped turn has left running.
	terminal.LeftCommandEnder
	// WarmAgents returns how many processes were started before their message and wait for it.
	WarmAgents() int
	// RestartedAgents returns how many persistent agents were started again because there was no
	// room to keep them, and the key of the configuration that sets the limit.
	RestartedAgents() (count int, key string)
	// EndSession ends the agent's session of a chat after /new.
	EndSession(chat string)
	// Controller carries out the commands of the agent's protocol. Without such commands, Controls
	// returns none.
	terminal.Controller
}

// WhileRunning says what happens with a message that arrives during a turn of its chat.
type WhileRunning string

// The values of WhileRunning.
const (
	Queue     WhileRunning = "queue"
	Interrupt WhileRunning = "interrupt"
	Reject    WhileRunning = "reject"
	Inject    WhileRunning = "inject"
)

// Settings may change while the gateway runs.
type Settings struct {
	WhileRunning WhileRunning
	// QueueLimit bounds the waiting messages of a chat, and RatePerMinute the messages of a person
	// per minute; 0: no limit.
	QueueLimit, RatePerMinute int
	// Gather is how long a message waits for further messages of its sender, which become one turn
	// with it; 0: it does not wait.
	Gather time.Duration
	// Agents are the agents by name, including the default agent.
	Agents map[string]Agent
	// Timezone is that of times of day which people write; "": the system's.
	Timezone string
}

// whileRunning returns the rule for messages to an agent. An agent that accepts no messages while
// it runs has a queue.
func (s *Settings) whileRunning(agent string) WhileRunning {
	if s.WhileRunning == Inject && !s.Agents[agent].Injectable {
		return Queue
	}
	return s.WhileRunning
}

// Options configures an Intake.
type Options struct {
	Channels map[string]channels.Channel
	Store    Store
	Lanes    Lanes
	Outbox   Outbox
	Access   *access.Access
	Choice   *choice.Choice
	Notices  Notices
	Settings func() Settings
	// AgentInfo returns the information that an agent has reported about itself in a chat.
	AgentInfo func(ctx context.Context, chat channels.Chat, agent string) (terminal.AgentInfo, error)
	// AgentChanged is called when another agent is chosen for a chat.
	AgentChanged func(chat channels.Chat, agent string)
	Runbooks     Runbooks // nil: there are none
	Schedules    Schedules
	// Answered is called with each answer to a question, and with a terminal.DismissedError if a
	// person has dismissed it by writing something else.
	Answered func(question string, a terminal.Answer, err error)
	// Stopped and Interrupted are the causes with which /stop and newer messages cancel turns.
	Stopped, Interrupted error
	Words                *words.Catalogue // nil: without the operator's settings
	Events               events.Func      // nil: no observer
	Audit                audit.Func       // records commands, answers and refusals
	Log                  *zap.Logger
}

// Intake handles incoming messages. Its methods may be called from many goroutines.
type Intake struct {
	*stage
	*pairing
	*controls
	*reading
	*enqueuer
	rates rateCounter
}

// New returns an Intake. Commands of agents' protocols wait for RunControls.
func New(o Options) *Intake {
	s := &stage{o}
	c, r := &controls{stage: s, queue: newControlQueue()}, &reading{s}
	i := &Intake{stage: s, pairing: &pairing{stage: s}, controls: c, reading: r, enqueuer: &enqueuer{s, c, r}}
	i.pairing.route = i.route
	return i
}

// Receive handles a message from a channel. When it returns nil, the message is on disk and will be
// worked on once, or its sender was refused. If another member is to receive it, Receive does
// nothing and returns store.ErrKept. A part is stored until its message is complete; parts of a
// person without access are not stored, and their message is refused when it is complete.
func (i *Intake) Receive(ctx context.Context, in channels.Incoming) error {
	i.o.Outbox.Reopen(in.Chat)
	if in.Part != nil && !in.Part.Last {
		return i.storePart(ctx, in)
	}
	switch in.Change {
	case "":
	case channels.ChatDeleted: // the network has checked that the person may do so
		return i.runCommand(ctx, in, chatDeletion, "")
	default:
		return i.changeMessage(ctx, in)
	}
	for {
		ok, err := i.o.Access.Admits(ctx, in.Chat.Channel, in.User.ID)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if refused, err := i.refuseOutsider(ctx, in); refused || err != nil {
			return err
		}
	}
	if !i.o.Access.AdmitsBySettings(in.Chat.Channel, in.User.ID) { // messages from before the pairing go first
		if err := i.welcomePaired(ctx, store.Person{Channel: in.Chat.Channel, User: in.User.ID}); err != nil {
			return err
		}
	}
	if in.Replaces != "" {
		if err := i.withdrawReplaced(ctx, in); err != nil {
			return err
		}
	}
	return i.route(ctx, in)
}

// storePart stores a part of a message, if its sender has access.
func (i *Intake) storePart(ctx context.Context, in channels.Incoming) error {
	ok, err := i.o.Access.Admits(ctx, in.Chat.Channel, in.User.ID)
	switch {
	case err != nil:
		return err
	case ok:
		err = i.o.Store.StorePart(ctx, in)
	case in.Cursor != "":
		err = i.o.Store.SetCursor(ctx, in.Chat.Channel, in.Cursor)
	}
	if err != nil {
		return fmt.Errorf("store part: %w", err)
	}
	return nil
}

// route handles a message of an admitted person.
func (i *Intake) route(ctx context.Context, in channels.Incoming) error {
	if text, ok := press.ParseDo(in.Press); ok {
		in.Text, in.Press, in.Pressed = text, "", true
	}
	in.Text = startText(in)
	c, args, own := i.parseCommand(in)
	read, err := i.readChat(ctx, in)
	if err != nil {
		return err
	}
	if in, err = i.o.Choice.DecideChosen(ctx, in, read.Memories[choice.Memory]); err != nil {
		return err
	}
	var ctl *control
	if !own {
		if err := i.keepLastAgent(ctx, &in); err != nil {
			return err
		}
		ctl = i.findControl(in)
	}
	if refusal, ok := i.checkRate(in, own || ctl.isCommand(), c.stops); !ok {
		return i.dropMessage(ctx, in, events.RateLimited, refusal)
	}
	ctl, refused, err := i.checkRole(ctx, in, own, ctl)
	if refused || err != nil {
		return err
	}
	isText := !own && !ctl.isCommand() && !in.Answerer.Command && in.Replaces == "" &&
		(in.Forwarded == nil || in.Press != "")
	if answered, err := i.answerQuestion(ctx, in, isText, read.Questions); answered || err != nil {
		return err
	}
	switch {
	case own && c.isRun:
		return i.runRunbook(ctx, in, args)
	case own:
		return i.runCommand(ctx, in, c, args)
	}
	return i.routeMessage(ctx, in, ctl, read.Questions)
}

// readChat returns what decides about a message. It is store.ErrKept if the message is to be
// forwarded. That is so, too, while this member has not yet received earlier ones.
func (i *Intake) readChat(ctx context.Context, in channels.Incoming) (store.ChatState, error) {
	read, err := i.o.Store.ReadChat(ctx, in.Chat, choice.Memory)
	if err == nil && (read.Kept || read.Forwarded && !in.Stored) {
		err = store.ErrKept
	}
	if err != nil {
		return read, fmt.Errorf("read what is asked and chosen: %w", err)
	}
	return read, nil
}

// routeMessage handles a message that is neither a command of the gateway nor an answer. ctl is a
// message for the agent's protocol, or nil. Other text may be read by the running turn. open are
// the open questions of the chat.
func (i *Intake) routeMessage(ctx context.Context, in channels.Incoming, ctl *control, open []store.Question) error {
	if ctl != nil {
		if done, err := i.tryControl(ctx, ctl); done || err != nil {
			return err
		}
		in = ctl.asMessage()
	}
	if in.Press != "" {
		return i.storeOldButton(ctx, in)
	}
	set := i.o.Settings()
	read, err := i.offerMessage(ctx, in)
	if errors.Is(err, errNotRead) {
		i.o.Log.Warn("message not read by the running turn, queued instead", zap.Stringer("chat", in.Chat), zap.Error(err))
		err, set.WhileRunning = nil, Queue
	}
	if read || err != nil {
		return err
	}
	return i.enqueueMessage(ctx, in, set, open)
}
