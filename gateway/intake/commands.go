package intake

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// menu is what people are told they can say.
var menu = []channels.Command{
	{Name: "stop", Help: "stop what I am doing and forget what waits"},
	{Name: "status", Help: "what is running, waiting and undelivered"},
	{Name: "new", Help: "start the conversation afresh"},
	{Name: "retry", Help: "work on your last message again"},
	{Name: "whoami", Help: "your id and this chat's"},
	{Name: "help", Help: "list these commands"},
}

// agentMenu is what people are told where there is more than one agent.
var agentMenu = channels.Command{Name: agentCommand, Help: "which agent answers, and choose another"}

// Commands lists what a channel's menu shows.
func (i *Intake) Commands() []channels.Command {
	all := slices.Clone(menu)
	if i.severalAgents() {
		all = slices.Insert(all, len(all)-1, agentMenu) // /help is the last
	}
	if i.hasRunbooks() {
		all = slices.Insert(all, len(all)-1, runbookMenu...)
	}
	return all
}

// command is something the gateway does itself instead of the agent.
type command struct {
	button bool // reached by a button only
	stops  bool // ends the turn that runs
	forget bool // what the turn that runs still learns
	run    bool // is /run, which may get a turn
	do     func(call, context.Context) (answer string, err error)
}

// call is one use of a command.
type call struct {
	*Intake
	in   channels.Incoming
	args string
	// request is what will be stored of the command. What it is to change on disk belongs
	// there, so that it happens once, with it.
	request *store.ReceiveRequest
	reply   *channels.Message // to which a command adds buttons; its text is what the command returns
	// dropped are the waiting turns that will not be when that is done, and chosen the agent that
	// answers from then on.
	dropped *[]int64
	chosen  *string
}

// commands are all there are; everything else, slash or not, goes to the agent.
var commands = map[string]command{
	"/start":  {do: call.start},
	"/help":   {do: call.help},
	"/stop":   {do: call.stop, stops: true},
	"/status": {do: call.status},
	"/new":    {do: call.afresh, forget: true},
	"/retry":  {do: call.retry},
	"/whoami": {do: call.whoami},
	"/cancel": {button: true, do: call.cancelOne},
	"/again":  {button: true, do: call.again},

	"/" + agentCommand:    {do: call.agent},
	"/" + runbooksCommand: {do: call.runbooks},
	"/" + runCommand:      {run: true},
}

// obey carries out a command once: what it changes and what is answered is stored with it, so that
// a crash in between neither forgets nor repeats it. The turn is stopped behind that, so that a
// /stop which is delivered again does not stop the next one.
func (i *Intake) obey(ctx context.Context, in channels.Incoming, c command, args string) error {
	defer i.o.Lanes.Lock(in.Chat)()
	if c.stops || c.forget { // the turn that is just being claimed is meant, too
		i.o.Lanes.AwaitClaim()
	}
	request := store.ReceiveRequest{In: in, Cursor: in.Cursor, Settle: true}
	var dropped []int64
	var answer channels.Message
	var chosen string
	text, err := c.do(call{i, in, args, &request, &answer, &dropped, &chosen}, ctx)
	if err != nil {
		return err
	}
	answer.Text = text
	var first bool
	word, _ := commandWord(in)
	conclude := func() error {
		if first, err = i.conclude(ctx, request, answer); first {
			i.o.Audit.Record(in, audit.Record{Event: audit.Command, Decision: audit.Allowed, Command: word, Text: in.Text})
			for _, id := range dropped {
				i.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Inbound: id, Reason: events.Cancelled})
			}
			if chosen != "" {
				i.o.Chosen(in.Chat, chosen)
			}
			if request.StartAfresh {
				for _, agent := range i.o.Settings().Agents {
					agent.Runner.StartAfresh(in.Chat.String())
				}
			}
		}
		return err
	}
	t := i.o.Lanes.Running(in.Chat)
	if c.forget && t != nil {
		return t.ResetMemory(conclude)
	}
	if err = conclude(); !first || !c.stops {
		return err
	}
	// Nothing of this chat waits on disk any more, and nothing is stored while the chat is locked.
	// So the turn that runs now, or is just being claimed, was claimed before the /stop.
	i.o.Lanes.AwaitClaim()
	if t := i.o.Lanes.Running(in.Chat); t != nil {
		t.Cancel(i.o.Stopped) // the turn says that it was stopped
	}
	return err
}

// AgentCommands are an agent's commands that reach it: those of its protocol, then those that it
// told about itself. The gateway's own of the same name go first.
func (i *Intake) AgentCommands(agent string, a terminal.AgentInfo) []channels.Command {
	own := i.Commands()
	var all []channels.Command
	for _, c := range slices.Concat(i.controlsOf(agent), a.Commands) {
		same := func(m channels.Command) bool { return strings.EqualFold(m.Name, c.Name) }
		if c.Name != "" && c.Name != "start" && !slices.ContainsFunc(own, same) && !slices.ContainsFunc(all, same) {
			all = append(all, channels.Command{Name: c.Name, Help: c.Help, Args: true})
		}
	}
	return all
}

func (c call) start(context.Context) (string, error) {
	return "Hello! Send me a message and I will work on it. /help lists what else I understand.", nil
}

func (c call) help(ctx context.Context) (string, error) {
	var b strings.Builder
	for _, m := range c.Commands() {
		fmt.Fprintf(&b, "/%s: %s\n", m.Name, m.Help)
	}
	agent, _, err := c.choice(ctx, c.in.Chat)
	if err != nil {
		return "", err
	}
	about, err := c.o.About(ctx, c.in.Chat, agent)
	if err != nil {
		return "", err
	}
	if its := c.AgentCommands(agent, about); len(its) > 0 {
		b.WriteString("\nThe agent's own:\n")
		for _, m := range its {
			b.WriteString(strings.TrimRight(fmt.Sprintf("/%s: %s", m.Name, channels.FirstLine(m.Help, 0)), ": ") + "\n")
		}
		b.WriteString("\n")
	}
	return b.String() + "Everything else goes to the agent.", nil
}

// stop frees the chat: what waits is dropped, and the turn is told to end, and left behind if it
// does not. Between turns, what the agent has left running is ended.
func (c call) stop(ctx context.Context) (string, error) {
	waiting, err := c.waiting(ctx)
	if err == nil {
		err = c.drop(ctx)
	}
	if err != nil {
		return "", err
	}
	c.request.Cancel = true
	var said []string
	if waiting > 0 {
		said = append(said, fmt.Sprintf("%d waiting message(s) dropped.", waiting))
	}
	running := c.o.Lanes.Running(c.in.Chat)
	if ended := c.stopLeft(running); ended > 0 {
		said = append(said, fmt.Sprintf("%d command(s) stopped.", ended))
	}
	if running == nil && len(said) == 0 {
		return "Nothing is running.", nil
	}
	return strings.Join(said, " "), nil
}

// stopLeft ends what agents have left running in the chat, but for the agent of the turn that runs,
// which ends its own, and counts the commands that it ended.
func (c call) stopLeft(running Turn) (ended int) {
	for name, agent := range c.o.Settings().Agents {
		if running == nil || running.Agent() != name {
			ended += agent.Runner.StopCommands(c.in.Chat.String())
		}
	}
	return ended
}

// mostDropped bounds how many dropped turns are told of.
const mostDropped = 1000

// drop notes the waiting turns for those who watch.
func (c call) drop(ctx context.Context) error {
	if c.o.Events == nil {
		return nil
	}
	inbounds, err := c.o.Store.Turns(ctx, store.TurnFilter{Chat: c.in.Chat, Outcome: string(store.Pending), Limit: mostDropped})
	if err != nil {
		return fmt.Errorf("read waiting messages: %w", err)
	}
	for _, i := range inbounds {
		*c.dropped = append(*c.dropped, i.ID)
	}
	return nil
}

// waiting counts the chat's messages that no agent has been handed.
func (c call) waiting(ctx context.Context) (int, error) {
	n, err := c.o.Store.Waiting(ctx, c.in.Chat)
	if err != nil {
		return 0, fmt.Errorf("count waiting messages: %w", err)
	}
	if t := c.o.Lanes.Running(c.in.Chat); t != nil {
		n -= t.InjectedCount()
	}
	return max(n, 0), nil
}

func (c call) afresh(context.Context) (string, error) {
	c.request.StartAfresh = true
	return "A fresh start: the agent is not told of what was said before.", nil
}

func (c call) whoami(context.Context) (string, error) {
	return fmt.Sprintf("user id: %s\nchat: %s", c.in.User.ID, c.in.Chat), nil
}

// retry runs the last message again that had a turn.
func (c call) retry(ctx context.Context) (string, error) {
	if c.o.Lanes.Running(c.in.Chat) != nil {
		return "I am still working. /stop first.", nil
	}
	inbounds, err := c.o.Store.Recent(ctx, c.in.Chat, 20)
	if err != nil {
		return "", fmt.Errorf("read last messages: %w", err)
	}
	for _, inbound := range inbounds {
		switch {
		case inbound.Started.IsZero():
			continue
		case inbound.Ended.IsZero(): // its end is being recorded
			return "I am still working. /stop first.", nil
		}
		ok, err := c.Admits(ctx, inbound.In.Chat.Channel, inbound.In.User.ID)
		if err != nil {
			return "", err
		}
		if !ok {
			continue
		}
		c.request.Restart = inbound.ID
		return "", nil
	}
	return "There is nothing to try again.", nil
}

// again is the button under the report of a turn that was cut off.
func (c call) again(ctx context.Context) (string, error) {
	id, err := strconv.ParseInt(c.args, 10, 64)
	if err != nil {
		return "", nil //nolint:nilerr // a button that we did not make
	}
	inbound, ok, err := c.o.Store.Inbound(ctx, id)
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	if !ok || inbound.In.Chat != c.in.Chat || inbound.State == store.Running || inbound.State == store.Pending {
		return "", nil
	}
	if ok, err = c.Admits(ctx, inbound.In.Chat.Channel, inbound.In.User.ID); err != nil {
		return "", err
	}
	if !ok {
		return "Who wrote that may not talk to me any more.", nil
	}
	c.request.Restart = id
	return "", nil
}

// cancelOne is the button under the notice of a waiting message.
func (c call) cancelOne(ctx context.Context) (string, error) {
	id, err := strconv.ParseInt(c.args, 10, 64)
	if err != nil {
		return "", nil //nolint:nilerr // a button that we did not make
	}
	n, err := c.o.Store.Cancel(ctx, c.in.Chat, id)
	if err != nil {
		return "", fmt.Errorf("cancel message: %w", err)
	}
	if n == 0 {
		return "It is not waiting any more.", nil
	}
	c.o.Events.Report(events.Event{Type: events.Dropped, Chat: c.in.Chat, Inbound: id, Reason: events.Cancelled})
	return "Cancelled.", nil
}

// parseCommand recognises the gateway's own commands. A press on a button of ours is one too.
func (i *Intake) parseCommand(in channels.Incoming) (c command, args string, ok bool) {
	word, args := commandWord(in)
	c, ok = commands[word]
	switch {
	case !ok:
		return command{}, "", false
	case in.Press == "" && (c.button || word == "/"+agentCommand && !i.severalAgents()):
		return command{}, "", false
	case (word == "/"+runCommand || word == "/"+runbooksCommand) && !i.hasRunbooks():
		return command{}, "", false
	}
	return c, args, ok
}

// commandWord is what would be a command, and what follows it.
func commandWord(in channels.Incoming) (word, args string) {
	text := in.Text
	if in.Press != "" {
		text = in.Press
	}
	word, args, _ = strings.Cut(strings.TrimSpace(text), " ")
	if name, data, found := strings.Cut(word, ":"); in.Press != "" && found {
		word, args = "/"+name, data
	}
	return strings.ToLower(word), strings.TrimSpace(args)
}
