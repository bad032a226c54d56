// Package intake decides what becomes of each message that a channel brings: its sender is not
// admitted, it is one of the gateway's own commands, it answers a question, or it waits for a turn.
// It knows nothing of how turns run and of how messages are sent.
package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// Store is what intake keeps on disk.
type Store interface {
	store.Access
	Gather(ctx context.Context, in channels.Incoming) error
	Member() string
	Receive(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
	Inbound(ctx context.Context, id int64) (store.Inbound, bool, error)
	Recent(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	Cancel(ctx context.Context, chat channels.Chat, id int64) (int, error)
	Waiting(ctx context.Context, chat channels.Chat) (int, error)
	Queue(ctx context.Context, chat channels.Chat, n int) ([]store.Inbound, error)
	SettlePending(ctx context.Context, id int64) error
	Known(ctx context.Context, chat channels.Chat, id string) (bool, error)
	Turns(ctx context.Context, f store.TurnFilter) ([]store.Inbound, error)
	Undelivered(ctx context.Context, chat channels.Chat, n int) ([]store.Delivery, error)
	Question(ctx context.Context, id string) (store.Question, bool, error)
	OpenQuestions(ctx context.Context, chat channels.Chat) ([]store.Question, error)
	Recall(ctx context.Context, chat channels.Chat, key string) (string, error)
}

// Lanes are where messages wait for their turns, and the turns that run.
type Lanes interface {
	// Accept stores a message and starts its turn if that can begin at once.
	Accept(ctx context.Context, a store.ReceiveRequest) (store.ReceiveResult, error)
	// Lock keeps everything else from being stored or begun in a chat.
	Lock(chat channels.Chat) (unlock func())
	// AwaitClaim waits until the turn that is just being claimed can be found.
	AwaitClaim()
	// Wake says that a message may have become pending.
	Wake()
	// Running returns the turn that runs in a chat, or nil. All returns all that run.
	Running(chat channels.Chat) Turn
	All() []Turn
}

// Turn is a turn that runs.
type Turn interface {
	Inbound() store.Inbound
	// Agent is the name of the agent that works on it.
	Agent() string
	StartTime() time.Time
	// Cancel ends the turn. The cause decides what it says about that.
	Cancel(cause error)
	// Revoke ends the turn of a person who has lost access.
	Revoke()
	// Forget calls do, which has the chat start afresh on disk. If that succeeds, what the turn
	// still learns is not kept.
	ResetMemory(do func() error) error
	// Bury says that a message of the person stands below the board, which is then sent anew.
	MoveBoardDown()
	// Inject hands a message to the agent that runs, if it takes it. Injected counts the messages
	// that it was handed.
	Inject(inbound store.Inbound)
	InjectedCount() int
	// Injectors are the people whose messages the agent has not read yet. TakeBack withdraws those
	// of one of them.
	WaitingInjectors() []string
	WithdrawInjected(user string)
	// Controller returns the runner of the turn's agent if its protocol carries out commands
	// itself, else nil.
	Controller() terminal.Controller
	// Reader returns the runner of the turn's agent if its protocol reads messages and the turn was
	// not told to end, else nil.
	MessageReader() terminal.MessageReader
	// AwaitsSince is when the turn began to wait for messages; zero: it does not.
	WaitingSince() time.Time
	// OfferAgain has OfferQueue called until it succeeds, as long as the turn waits for messages.
	OfferQueueAgain()
}

// Outbox is where the gateway's own answers go.
type Outbox interface {
	Post(ctx context.Context, m *outbox.Message) error
	// Wake says that something was stored for a chat.
	Wake(chat channels.Chat)
	// ShowEnd has the message of a question show how that ended.
	ShowOutcome(q store.Question, how string)
	// Sending reports whether any message is being sent, and Abort ends the sends of some.
	Sending() bool
	Abort(deliveries []int64)
}

// Agent is an agent of the current settings.
type Agent struct {
	Runner Runner
	// Injectable says that the agent takes messages while it runs.
	Injectable bool
	// Approvers are the people (channel:userid) who may permit what the agent asks for; none: all
	// who may talk to the bot.
	Approvers []string
}

// Runner runs an agent.
type Runner interface {
	// StopCommands ends what the agent has left running in a chat, and returns how many commands
	// that were.
	StopCommands(chat string) (ended int)
	// IdleAgents returns the agents that are kept between turns, and EndIdleAgent ends that of a
	// chat.
	IdleAgents() []terminal.IdleAgent
	EndIdleAgent(chat string)
	// StartAfresh ends what the agent keeps of a chat whose person starts afresh.
	StartAfresh(chat string)
	// Controller is for the commands that the agent's protocol carries out itself. Without any, it
	// has no Controls.
	terminal.Controller
}

// WhileRunning says what is done with a message that comes while a turn of its chat runs.
type WhileRunning string

// The ways to deal with such a message.
const (
	Queue     WhileRunning = "queue"
	Interrupt WhileRunning = "interrupt"
	Reject    WhileRunning = "reject"
	Inject    WhileRunning = "inject"
)

// Settings may change while the gateway runs.
type Settings struct {
	// AllowFrom lists by channel the people who are admitted; * is everybody. A channel that is not
	// in it has no access control.
	AllowFrom    map[string][]string
	WhileRunning WhileRunning
	// QueueLimit is how many messages of a chat may wait, and RatePerMinute how many a person may
	// send in a minute; 0 is no limit.
	QueueLimit, RatePerMinute int
	// Agents are the agents by name, with the default one among them.
	Agents map[string]Agent
	// RunApprovers are the people (channel:userid) who may decide in runs of runbooks; none: all.
	RunApprovers []string
}

// whileRunning is what is done with a message for an agent. What an agent does not take while it
// runs waits in the queue.
func (s *Settings) whileRunning(agent string) WhileRunning {
	if s.WhileRunning == Inject && !s.Agents[agent].Injectable {
		return Queue
	}
	return s.WhileRunning
}

// Options is what intake is made of.
type Options struct {
	Channels map[string]channels.Channel
	Store    Store
	Lanes    Lanes
	Outbox   Outbox
	Settings func() Settings
	// About is what an agent has told of itself in a chat.
	About func(ctx context.Context, chat channels.Chat, agent string) (terminal.AgentInfo, error)
	// Chosen is told of a chat in which another agent answers from now on.
	Chosen   func(chat channels.Chat, agent string)
	Runbooks Runbooks // nil: there are none
	// Answered is told of each answer that a question was given.
	Answered func(question string, a terminal.Answer)
	// Stopped and Interrupted are the causes with which turns are cancelled by /stop and by a newer
	// message.
	Stopped, Interrupted error
	Events               events.Func // nil: nobody is told
	Audit                audit.Func  // who did what
	Log                  *zap.Logger
}

// Intake takes messages in. Its methods may be called from many goroutines.
type Intake struct {
	o         Options
	rates     rates
	refused   sync.Map      // people who were refused and logged
	welcoming sync.Mutex    // one goroutine at a time, so that a newcomer's messages stay in order
	recheck   chan struct{} // the settings have changed, and with them perhaps who is admitted
	controls  *controlQueue
}

// New returns an intake. What agents' protocols carry out themselves waits for RunControls.
func New(o Options) *Intake {
	return &Intake{o: o, recheck: make(chan struct{}, 1), controls: newControlQueue()}
}

// Receive takes a message from a channel. When it returns nil, the message is on disk and will be
// worked on once, or its sender is not admitted. A part waits on disk for its whole message;
// whether its sender is admitted is decided then.
func (i *Intake) Receive(ctx context.Context, in channels.Incoming) error {
	if in.Part != nil && !in.Part.Last {
		if err := i.o.Store.Gather(ctx, in); err != nil {
			return fmt.Errorf("store part: %w", err)
		}
		return nil
	}
	for {
		ok, err := i.Admits(ctx, in.Chat.Channel, in.User.ID)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if refused, err := i.refuse(ctx, in); refused || err != nil {
			return err
		}
	}
	if !i.lists(in.Chat.Channel, in.User.ID) { // what they wrote before they were let in goes first
		if err := i.welcome(ctx, store.Person{Channel: in.Chat.Channel, User: in.User.ID}); err != nil {
			return err
		}
	}
	return i.route(ctx, in)
}

// route takes the message of a person who is admitted.
func (i *Intake) route(ctx context.Context, in channels.Incoming) error {
	c, args, own := i.parseCommand(in)
	var ctl *control
	if !own {
		var err error
		if ctl, err = i.findControl(ctx, in); err != nil {
			return err
		}
	}
	if refusal, ok := i.withinRate(in, own || ctl.isCommand(), c.stops); !ok {
		return i.drop(ctx, in, events.RateLimited, refusal)
	}
	switch {
	case own && c.run:
		return i.run(ctx, in, args)
	case own:
		return i.obey(ctx, in, c, args)
	}
	return i.routeMessage(ctx, in, ctl)
}

// routeMessage takes a message that is none of the gateway's commands. ctl is what the agent's
// protocol may carry out itself of it, or nil. A word that is no command of the protocol may answer
// a question first. The turn that runs may read the rest.
func (i *Intake) routeMessage(ctx context.Context, in channels.Incoming, ctl *control) error {
	if !ctl.isCommand() {
		if answered, err := i.answer(ctx, in); answered || err != nil {
			return err
		}
	}
	if ctl != nil {
		if done, err := i.carryOut(ctx, ctl); done || err != nil {
			return err
		}
		in = ctl.asMessage()
	}
	if in.Press != "" {
		return i.settleOldButton(ctx, in)
	}
	set := i.o.Settings()
	read, err := i.offerMessage(ctx, in)
	if errors.Is(err, errNotRead) {
		i.o.Log.Warn("message not read by the turn that runs, is queued", zap.Stringer("chat", in.Chat), zap.Error(err))
		err, set.WhileRunning = nil, Queue
	}
	if read || err != nil {
		return err
	}
	return i.enqueue(ctx, in, set)
}

// settle stores a message that needs no turn, with its answer, if there is one.
func (i *Intake) settle(ctx context.Context, in channels.Incoming, answer string) error {
	_, err := i.conclude(ctx, store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true}, channels.Message{Text: answer})
	return err
}

// conclude is settle for a message that changes something on disk. It reports false for a message
// that was concluded before.
func (i *Intake) conclude(ctx context.Context, a store.ReceiveRequest, answer channels.Message) (bool, error) {
	in := a.In
	var err error
	if answer.Text != "" {
		if a.Answer, err = i.planAnswer(in, answer); err != nil {
			return false, err
		}
	}
	result, err := i.o.Store.Receive(ctx, a)
	if err != nil {
		return false, fmt.Errorf("store message: %w", err)
	}
	settled := result.Disposition == store.Settled
	if settled && answer.Text != "" {
		i.o.Outbox.Wake(in.Chat)
	}
	if a.Restart != 0 {
		i.o.Lanes.Wake()
	}
	return settled, nil
}

// planAnswer cuts the gateway's own answer to a message into network calls. Of the answer it takes
// the text and the buttons.
func (i *Intake) planAnswer(in channels.Incoming, answer channels.Message) ([]channels.Outgoing, error) {
	answer.Chat, answer.Kind, answer.ReplyTo = in.Chat, channels.Answer, in.ID
	parts, err := i.o.Channels[in.Chat.Channel].Plan(answer)
	if err != nil {
		return nil, fmt.Errorf("plan answer: %w", err)
	}
	return parts, nil
}
