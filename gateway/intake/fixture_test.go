package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/access"
	"nanobot/gateway/audit"
	"nanobot/gateway/beat"
	"nanobot/gateway/choice"
	"nanobot/gateway/events"
	"nanobot/gateway/intake"
	"nanobot/gateway/notices"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/gateway/store/sqlite/sqlitetest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The causes with which turns are cancelled.
var errStopped, errInterrupted = errors.New("stopped"), errors.New("interrupted")

// fixture is an intake over a real store, with fakes of lanes, outbox and agents that record their
// calls.
type fixture struct {
	options intake.Options
	*intake.Intake
	t        *testing.T
	store    *sqlite.Store
	net      *network
	disk     *fullDiskStore // store, as intake has it beside the lanes
	lanes    *fakeLanes
	outbox   *fakeOutbox
	agents   *fakeAgents // those of the default agent
	settings intake.Settings
	people   access.Settings
	access   *access.Access
	choice   *choice.Choice
	routes   []config.Route
	notices  *notices.Notices
	denied   sync.Map                      // people who lose their access while a test runs
	about    map[string]terminal.AgentInfo // by agent
	chosen   []string                      // agents that were chosen

	answered []string   // answers that questions were given
	recordMu sync.Mutex // commands of protocols are recorded in the background
	records  []audit.Record
	events   []events.Event
	logs     *observer.ObservedLogs
	lastID   int
}

// runIntake runs a test in a synctest bubble with an intake that admits ann and bob on the channel
// net.
func runIntake(t *testing.T, test func(fx *fixture)) {
	t.Parallel()
	dir := t.TempDir()
	sqlitetest.Prepare(t, dir)
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		core, logs := observer.New(zap.InfoLevel)
		fx := &fixture{t: t, store: db, net: &network{}, agents: &fakeAgents{}, disk: &fullDiskStore{Store: db}, logs: logs}
		fx.lanes = &fakeLanes{store: db, turns: map[channels.Chat]*fakeTurn{}}
		fx.outbox = &fakeOutbox{store: db, woken: map[channels.Chat]bool{}}
		fx.settings = intake.Settings{WhileRunning: intake.Queue, Agents: map[string]intake.Agent{store.DefaultAgent: {Runner: fx.agents, Injectable: true}}}
		fx.people = access.Settings{AllowFrom: map[string][]string{"net": {"ann", "bob"}}, Approvers: map[string][]string{store.DefaultAgent: nil}}
		open := map[string]channels.Channel{"net": fx.net}
		fx.access = access.New(access.Options{Store: db, Channels: open, Settings: fx.currentPeople, Log: zap.New(core)})
		fx.choice = choice.New(choice.Options{Store: fx.disk, Agents: fx.choosable, Routes: func() []config.Route { return fx.routes }, Locate: locate, MaySwitch: fx.access.MaySwitch, HasRunbooks: func() bool { return false }, Words: words.New(words.Settings{})})
		fx.notices = notices.New(notices.Options{Channels: open, Store: db, Outbox: fx.outbox, Words: words.New(words.Settings{}), Log: zap.New(core)})
		fx.options = intake.Options{
			Access: fx.access, Choice: fx.choice, Notices: fx.notices,
			Channels: open, Store: fx.disk, Lanes: fx.lanes, Outbox: fx.outbox,
			Settings: func() intake.Settings { return fx.settings },
			AgentInfo: func(_ context.Context, _ channels.Chat, agent string) (terminal.AgentInfo, error) {
				return fx.about[agent], nil
			},
			AgentChanged: func(chat channels.Chat, agent string) { fx.chosen = append(fx.chosen, chat.ID+": "+agent) },
			Answered: func(q string, a terminal.Answer, err error) {
				var dismissed *terminal.DismissedError
				if errors.As(err, &dismissed) {
					a = terminal.Answer{Text: "dismissed", By: dismissed.By}
				}
				fx.answered = append(fx.answered, fmt.Sprintf("%s: %s by %s", q, a.Text, a.By))
			},
			Stopped: errStopped, Interrupted: errInterrupted,
			Events: func(e events.Event) { fx.events = append(fx.events, e) },
			Audit: func(a audit.Record) {
				fx.recordMu.Lock()
				defer fx.recordMu.Unlock()
				fx.records = append(fx.records, a)
			},
			Log: zap.New(core),
		}
		fx.Intake = intake.New(fx.options)
		ctx, cancel := context.WithCancel(t.Context())
		var controls sync.WaitGroup
		controls.Go(func() { fx.RunControls(ctx) })
		controls.Go(func() { fx.notices.Run(ctx) })
		t.Cleanup(controls.Wait)
		t.Cleanup(cancel)
		test(fx)
	})
}

// locate is that of a network whose topics have IDs such as group_7.
func locate(chat channels.Chat) (parent, topic string, group bool) {
	parent, topic, found := strings.Cut(chat.ID, "_")
	if !found {
		return "", "", false
	}
	return parent, topic, true
}

func chatOf(user string) channels.Chat { return channels.Chat{Channel: "net", ID: user} }

// message returns the next message of a person, in their private chat.
func (fx *fixture) message(user, text string) channels.Incoming {
	fx.lastID++
	return channels.Incoming{Chat: chatOf(user), ID: strconv.Itoa(fx.lastID), User: channels.User{ID: user, Name: "Name of " + user}, Text: text}
}

// writeMessage receives a message of a person and checks the beginnings of the answers in the chat.
func (fx *fixture) writeMessage(user, text string, want ...string) store.Inbound {
	fx.t.Helper()
	return fx.receive(fx.message(user, text), want...)
}

// pressButton is writeMessage for the press of a button.
func (fx *fixture) pressButton(user, data string, want ...string) {
	fx.t.Helper()
	in := fx.message(user, "")
	in.Press = data
	fx.receive(in, want...)
}

// receive passes a message to intake, checks the answers in its chat, and returns the newest
// inbound message of the chat.
func (fx *fixture) receive(in channels.Incoming, want ...string) store.Inbound {
	fx.t.Helper()
	if err := fx.Receive(fx.t.Context(), in); err != nil {
		fx.t.Fatalf("%q: %v", in.Text+in.Press, err)
	}
	fx.checkStored(in.Chat, want...)
	inbounds := fx.recent(in.Chat)
	if len(inbounds) == 0 {
		return store.Inbound{}
	}
	return inbounds[0]
}

// checkStored checks the deliveries of a chat since its last call, and marks them as sent.
func (fx *fixture) checkStored(chat channels.Chat, want ...string) []store.Delivery {
	fx.t.Helper()
	deliveries := fx.settleAll(chat)
	equal := slices.EqualFunc(deliveries, want, func(delivery store.Delivery, text string) bool { return strings.HasPrefix(delivery.Out.Text, text) })
	if !equal {
		fx.t.Errorf("%s was told %q instead of %q", chat, textsOf(deliveries), want)
	}
	if slices.ContainsFunc(deliveries, func(delivery store.Delivery) bool {
		return delivery.Out.ReplyTo != "" && !delivery.Out.Silent && delivery.Out.Text != "You have access now."
	}) {
		fx.t.Errorf("%s was notified of %q just after writing", chat, textsOf(deliveries))
	}
	if len(deliveries) > 0 && !fx.outbox.woken[chat] {
		fx.t.Errorf("the outbox was not woken for %s", chat)
	}
	delete(fx.outbox.woken, chat)
	return deliveries
}

func textsOf(deliveries []store.Delivery) (texts []string) {
	for _, delivery := range deliveries {
		texts = append(texts, delivery.Out.Text)
	}
	return texts
}

// settleAll marks all pending deliveries of a chat as sent, and returns them.
func (fx *fixture) settleAll(chat channels.Chat) (deliveries []store.Delivery) {
	fx.t.Helper()
	for {
		delivery, ok, err := fx.store.NextDelivery(fx.t.Context(), chat, 0)
		if err == nil && ok {
			deliveries = append(deliveries, delivery)
			_, err = fx.store.Settle(fx.t.Context(), delivery.ID, store.Settlement{State: store.Sent, Receipt: receiptOf(delivery)})
		}
		if err != nil {
			fx.t.Fatal(err)
		}
		if !ok {
			return deliveries
		}
	}
}

func receiptOf(delivery store.Delivery) string { return fmt.Sprint("sent", delivery.ID) }

// recent returns the inbound messages of a chat, newest first.
func (fx *fixture) recent(chat channels.Chat) []store.Inbound {
	fx.t.Helper()
	inbounds, err := fx.store.Recent(fx.t.Context(), chat, 1000)
	if err != nil {
		fx.t.Fatal(err)
	}
	return inbounds
}

// checkInbounds checks the texts and states of a chat's inbound messages, oldest first.
func (fx *fixture) checkInbounds(user string, want ...string) {
	fx.t.Helper()
	var got []string
	for _, inbound := range slices.Backward(fx.recent(chatOf(user))) {
		got = append(got, fmt.Sprintf("%s%s %s", inbound.In.Text, inbound.In.Press, inbound.State))
	}
	if !slices.Equal(got, want) {
		fx.t.Errorf("%s has %q instead of %q", user, got, want)
	}
}

// runningTurn returns the turn of a person's private chat.
func (fx *fixture) runningTurn(user string) *fakeTurn {
	fx.t.Helper()
	t := fx.lanes.turns[chatOf(user)]
	if t == nil {
		fx.t.Fatalf("no turn of %s runs", user)
	}
	return t
}

// finishTurn ends the turn of a person's private chat.
func (fx *fixture) finishTurn(user string) {
	fx.t.Helper()
	fx.endTurn(user, store.Done)
}

// endTurn ends the running turn of a user's chat as done or interrupted.
func (fx *fixture) endTurn(user string, state store.State) {
	fx.t.Helper()
	out := store.Outcome{Status: "done", CPU: 200 * time.Millisecond}
	if _, err := fx.store.Finish(fx.t.Context(), fx.runningTurn(user).inbound.ID, state, out); err != nil {
		fx.t.Fatal(err)
	}
	delete(fx.lanes.turns, chatOf(user))
}

// checkVisible checks the transient messages that are shown in all chats.
func (fx *fixture) checkVisible(want ...string) {
	fx.t.Helper()
	synctest.Wait()
	fx.outbox.mu.Lock()
	defer fx.outbox.mu.Unlock()
	fx.checkEqual("shown", fx.outbox.visible, want)
}

// claimNext claims the next message of the queue and starts its turn.
func (fx *fixture) claimNext(user string) {
	fx.t.Helper()
	claimed, err := fx.store.Claim(fx.t.Context(), store.ClaimRequest{Limit: 1})
	if err != nil || len(claimed) != 1 {
		fx.t.Fatalf("claimed %v, %v", claimed, err)
	}
	fx.lanes.turns[chatOf(user)] = &fakeTurn{inbound: claimed[0]}
	fx.notices.Recheck(chatOf(user))
}

// decisions returns the decisions that were recorded since its last call.
func (fx *fixture) decisions() (all []string) {
	fx.recordMu.Lock()
	defer fx.recordMu.Unlock()
	for _, a := range fx.records {
		all = append(all, strings.TrimSpace(a.Event+" "+a.Decision+" "+a.Command))
	}
	fx.records = nil
	return all
}

func (fx *fixture) checkEqual(what string, got, want any) {
	fx.t.Helper()
	if g, w := fmt.Sprintf("%q", got), fmt.Sprintf("%q", want); g != w {
		fx.t.Errorf("%s: %s instead of %s", what, g, w)
	}
}

// network is a channel that sends each message in one call.
type network struct {
	channels.Channel
	channels.Editor
	reacts    bool
	addresses string // the beginning of the addresses of messages, "": they have none
}

func (n *network) LinkMessage(_ channels.Chat, _ bool, id string) string {
	if n.addresses == "" {
		return ""
	}
	return n.addresses + id
}

func (*network) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return []channels.Outgoing{{Chat: m.Chat, Kind: m.Kind, Text: m.Text, ReplyTo: m.ReplyTo, Buttons: m.Buttons, Notification: m.Notification}}, nil
}

// fullDiskStore is a store that cannot settle messages while it is broken.
type fullDiskStore struct {
	*sqlite.Store
	broken bool
	// failedErasures is how many calls of EraseText fail.
	failedErasures int
	// kept and forwarded are what ReadChat says in addition, and sent are the forwarded texts.
	kept, forwarded bool
	sent            []string
}

func (d *fullDiskStore) Forward(_ context.Context, in channels.Incoming) error {
	d.sent = append(d.sent, in.Text)
	return nil
}

func (d *fullDiskStore) ReadChat(ctx context.Context, c channels.Chat, memories ...string) (store.ChatState, error) {
	read, err := d.Store.ReadChat(ctx, c, memories...)
	read.Kept, read.Forwarded = d.kept, d.forwarded
	return read, err
}

var errDiskFull = errors.New("disk full")

func (d *fullDiskStore) Receive(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	if d.broken {
		return store.ReceiveResult{}, errDiskFull
	}
	return d.Store.Receive(ctx, request)
}

func (d *fullDiskStore) EraseText(ctx context.Context, id int64) ([]store.Transient, error) {
	if d.failedErasures > 0 {
		d.failedErasures--
		return nil, errDiskFull
	}
	return d.Store.EraseText(ctx, id)
}

func (d *fullDiskStore) SettlePending(ctx context.Context, id int64) error {
	if d.broken {
		return errDiskFull
	}
	return d.Store.SettlePending(ctx, id)
}

// fakeLanes runs nothing: a turn lasts until the test finishes it.
type fakeLanes struct {
	store *sqlite.Store
	mu    sync.Mutex // for turns, which commands read in the background
	turns map[channels.Chat]*fakeTurn
	// claiming are turns that run on disk and cannot be found before AwaitClaim.
	claiming map[channels.Chat]*fakeTurn
	full     bool
	// controller is that of the turns that begin.
	controller terminal.Controller
	reader     *fakeReader // likewise; nil: the turns read no messages
	broken     error       // what Accept returns; nil: nothing is wrong
	onAccept   func()      // called before a message is stored
	onClaim    func()      // called when a turn begins
	woken      int
}

func (l *fakeLanes) Accept(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	if l.broken != nil {
		return store.ReceiveResult{}, l.broken
	}
	if l.onAccept != nil {
		l.onAccept()
	}
	request.Claim = !l.full
	result, err := l.store.Receive(ctx, request)
	if err == nil && result.Disposition == store.Claimed {
		l.mu.Lock()
		l.turns[request.In.Chat] = &fakeTurn{inbound: result.Inbound, began: time.Now(), controller: l.controller, reader: l.reader}
		l.mu.Unlock()
		if l.onClaim != nil {
			l.onClaim()
		}
	}
	return result, err
}

// AwaitClaim makes turns visible that were being claimed.
func (l *fakeLanes) AwaitClaim() {
	maps.Copy(l.turns, l.claiming)
	l.claiming = nil
}

func (l *fakeLanes) Lock(channels.Chat) (unlock func()) { return func() {} }
func (l *fakeLanes) Wake()                              { l.woken++ }

func (l *fakeLanes) RunningTurn(chat channels.Chat) intake.Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.turns[chat]; t != nil {
		return t
	}
	return nil
}

func (l *fakeLanes) RunningTurns() (all []*fakeTurn) {
	for _, t := range l.turns {
		all = append(all, t)
	}
	return all
}

// fakeTurn records its calls.
type fakeTurn struct {
	hasRead    bool // the agent has read the injected messages
	boardMoves int
	inbound    store.Inbound
	began      time.Time
	cancelled  []error
	revoked    bool
	forgot     bool
	injected   []store.Inbound
	withdrawn  []string
	unread     int // of the injected messages

	controller   terminal.Controller
	reader       *fakeReader
	waitingSince time.Time
	offers       int // how often OfferAgain was called
}

func (t *fakeTurn) WaitingSince() time.Time { return t.waitingSince }
func (t *fakeTurn) OfferQueueAgain()        { t.offers++ }

func (t *fakeTurn) MessageReader() terminal.MessageReader {
	if t.reader == nil {
		return nil
	}
	return t.reader
}

func (t *fakeTurn) Controller() terminal.Controller { return t.controller }

func (t *fakeTurn) MoveBoardDown()         { t.boardMoves++ }
func (t *fakeTurn) Inbound() store.Inbound { return t.inbound }
func (t *fakeTurn) Agent() string          { return t.inbound.Agent }
func (t *fakeTurn) StartTime() time.Time   { return t.began }
func (t *fakeTurn) Cancel(cause error)     { t.cancelled = append(t.cancelled, cause) }
func (t *fakeTurn) Revoke()                { t.revoked = true }
func (t *fakeTurn) Inject(inbound store.Inbound) bool {
	t.injected = append(t.injected, inbound)
	return true
}
func (t *fakeTurn) InjectedCount() int           { return len(t.injected) }
func (t *fakeTurn) UnreadCount() int             { return t.unread }
func (t *fakeTurn) WithdrawInjected(user string) { t.withdrawn = append(t.withdrawn, user) }

func (t *fakeTurn) WithdrawMessage(inbound int64) bool {
	at := slices.IndexFunc(t.injected, func(i store.Inbound) bool { return i.ID == inbound })
	if at >= 0 && !t.hasRead {
		t.injected = slices.Delete(t.injected, at, at+1)
		at = -1
	}
	return at < 0
}

func (t *fakeTurn) ResetMemory(do func() error) error {
	t.forgot = true
	return do()
}

func (t *fakeTurn) WaitingInjectors() (users []string) {
	for _, inbound := range t.injected {
		users = append(users, inbound.In.User.ID)
	}
	return users
}

// fakeOutbox stores messages and sends nothing.
type fakeOutbox struct {
	mu     sync.Mutex
	posted []postedReply // with what the store does not keep here
	store  *sqlite.Store
	woken  map[channels.Chat]bool
	ended  []string // how questions ended

	shown     []channels.Outgoing // transient messages
	visible   []string            // their IDs and texts, until they are removed
	reactions []string
	showError error // of Show
}

func (o *fakeOutbox) Post(ctx context.Context, m *outbox.Message) error {
	parts, err := (&network{}).Plan(m.Message)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.woken[m.Chat] = true
	p := postedReply{screen: m.Screen, silent: m.Silent}
	for _, f := range m.Media {
		content, err := io.ReadAll(f.Open)
		if err != nil {
			return err
		}
		p.files, p.paths = append(p.files, f.Name+": "+string(content)), append(p.paths, f.Path)
	}
	o.posted = append(o.posted, p)
	_, _, err = o.store.Enqueue(ctx, store.Outbound{About: m.About, Parts: parts})
	return err
}

// postedReply has the fields of a message besides its text.
type postedReply struct {
	screen *channels.Screen
	silent bool
	files  []string
	paths  []string
}

func (o *fakeOutbox) Wake(chat channels.Chat) { o.woken[chat] = true }
func (*fakeOutbox) Reopen(channels.Chat)      {}
func (o *fakeOutbox) ShowOutcome(q store.Question, how string) {
	o.ended = append(o.ended, q.ID+": "+how)
}

func (o *fakeOutbox) ClosePickers(ctx context.Context, chat channels.Chat, _ int64, w words.Words) error {
	open, err := o.store.OpenQuestions(ctx, chat)
	for _, q := range open {
		if q.IsPicker() {
			_, err = o.CloseQuestion(ctx, q, w.Text(words.NothingChosen))
		}
	}
	return err
}

func (o *fakeOutbox) CloseQuestion(ctx context.Context, q store.Question, how string) (bool, error) {
	closed, err := o.store.Withdraw(ctx, q.ID)
	if closed {
		o.ShowOutcome(q, how)
	}
	return closed, err
}

// Show records a transient message, and Remove its end.
func (o *fakeOutbox) Show(_ context.Context, t outbox.Transient) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = append(o.shown, t.Out)
	if o.showError != nil {
		return "", o.showError
	}
	id := fmt.Sprint("t", len(o.shown))
	o.visible = append(o.visible, id+" "+t.Out.Text)
	return id, nil
}

func (o *fakeOutbox) Remove(transient store.Transient) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.visible = slices.DeleteFunc(o.visible, func(s string) bool { return strings.HasPrefix(s, transient.ID+" ") })
}

func (o *fakeOutbox) React(_ channels.Chat, id string, r channels.Reaction) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reactions = append(o.reactions, id+" "+string(r))
}

func (o *fakeOutbox) Abort([]int64) {}

// fakeAgents has background commands and idle persistent agents.
type fakeAgents struct {
	left          int
	leftByTurns   []string // which were stopped
	cannotEnd     bool     // leftByTurns
	works         bool     // in the background, apart from commands
	idle          map[string][]string
	endedIdle     []string
	endedSessions []string
	restarted     int
	fakeController
}

func (a *fakeAgents) LeftCommands(string) []string { return a.leftByTurns }

func (a *fakeAgents) EndLeftCommands(string) (ended int) {
	if a.cannotEnd {
		return 0
	}
	ended, a.leftByTurns = len(a.leftByTurns), nil
	return ended
}

func (a *fakeAgents) StopCommands(string) (ended int, told bool) {
	ended, a.left = a.left, 0
	return ended, a.works
}

func (a *fakeAgents) IdleAgents() map[string][]string { return a.idle }
func (a *fakeAgents) EndIdleAgent(chat string)        { a.endedIdle = append(a.endedIdle, chat) }
func (a *fakeAgents) EndSession(chat string)          { a.endedSessions = append(a.endedSessions, chat) }
func (a *fakeAgents) WarmAgents() int                 { return 0 }
func (a *fakeAgents) RestartedAgents() (int, string)  { return a.restarted, "acp.keptMemory" }

// currentSettings returns the settings without the people who have lost their access.
func (fx *fixture) currentPeople() access.Settings {
	now := fx.people
	fx.denied.Range(func(user, _ any) bool {
		admitted := slices.DeleteFunc(slices.Clone(now.AllowFrom["net"]), func(id string) bool { return id == user })
		now.AllowFrom = map[string][]string{"net": admitted}
		return true
	})
	return now
}

func (fx *fixture) choosable() map[string]choice.Agent {
	all := map[string]choice.Agent{}
	for name, agent := range fx.settings.Agents {
		all[name] = agent.Runner
	}
	return all
}

// watchRevoked ends the work of people who have lost access, for a minute. change is called while
// it runs.
func (fx *fixture) watchRevoked(change func()) {
	fx.t.Helper()
	revocation := access.NewRevocation(access.RevocationOptions[*fakeTurn]{
		Access: fx.access, Dismissed: fx.store.Dismissed, RunningTurns: fx.lanes.RunningTurns, Outbox: fx.outbox, Log: zap.NewNop(),
		Forgetting: access.Forgetting{Records: fx.store, Reread: func() {}},
		Agents: func() (all []access.Agents) {
			for _, agent := range fx.settings.Agents {
				all = append(all, agent.Runner.(*fakeAgents))
			}
			return all
		},
	})
	ctx, cancel := context.WithCancel(fx.t.Context())
	ended := make(chan struct{})
	beats := beat.NewListener()
	go func() { revocation.Run(ctx, beats); close(ended) }()
	beating := make(chan error)
	go func() { beating <- beat.Run(ctx, fx.store, func() bool { return true }, zap.NewNop(), beats) }()
	synctest.Wait() // nobody reads what is changed
	change()
	revocation.Recheck()
	time.Sleep(time.Minute)
	cancel()
	<-ended
	fx.checkEqual("the beats end with", <-beating, error(nil))
}
