package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// stop has the running turn cancelled, which is abandoned if it does not end; the next message of
// the queue then gets its turn. "/stop all" also drops the queue. Without a turn, it ends the
// agents' background commands. The button of a board stops the turn of that board only.
func (c commandCall) stop(ctx context.Context) (string, error) {
	known, err := c.o.Store.Known(ctx, c.in.Chat, c.in.ID)
	if err != nil {
		return "", fmt.Errorf("look up message: %w", err)
	}
	if known && c.in.ID != "" { // a duplicate must not end commands that were started since
		return "", nil
	}
	if c.in.Press != "" && c.args != "" && !c.isRunning(press.Inbound(c.args)) {
		return c.endLeftCommands(), nil
	}
	waiting, err := c.waiting(ctx)
	if err != nil {
		return "", err
	}
	all := c.in.Press == "" && strings.EqualFold(c.args, "all")
	if all {
		if err := c.collectDropped(ctx); err != nil {
			return "", err
		}
		c.request.Cancel = true
	}
	stopping, err := c.stopRunning(ctx)
	if err != nil {
		return "", err
	}
	if c.running == nil && !all {
		if dropped, err := c.stopGathering(ctx); dropped || err != nil {
			return strings.Join(c.waitingText(1, true), ""), err
		}
	}
	var said []string
	ended, told := c.stopBackgroundCommands()
	if ended > 0 {
		said = append(said, c.text(words.CommandsStopped, ended))
	}
	if told {
		said = append(said, c.text(words.BackgroundStopping))
	}
	switch {
	case ended > 0 || told:
	case stopping && !all:
		said = append(said, c.textForSender(words.AlreadyStopping))
	case c.running == nil && (waiting == 0 || !all):
		said = append(said, c.textForSender(words.NothingRunning))
	}
	return strings.Join(append(said, c.waitingText(waiting, all)...), " "), nil
}

// endLeftCommands ends the commands that stopped turns of the chat have left running.
func (c commandCall) endLeftCommands() string {
	ended := 0
	for _, agent := range c.o.Settings().Agents {
		ended += agent.Runner.EndLeftCommands(c.in.Chat.String())
	}
	left := c.leftCommandsText()
	switch {
	case ended > 0:
		return strings.TrimSpace(c.text(words.CommandsStopped, ended) + " " + left)
	case left != "": // another turn uses the agent, with which alone they can be ended
		return left
	}
	return c.textForSender(words.EndedAlready)
}

// leftCommandsText says which commands stopped turns of the chat have left running, or "".
func (c commandCall) leftCommandsText() string {
	var left []string
	for _, agent := range c.o.Settings().Agents {
		left = append(left, agent.Runner.LeftCommands(c.in.Chat.String())...)
	}
	slices.Sort(left)
	return terminal.StillRunningText(c.words(c.in), left)
}

// isRunning reports whether the chat's turn is that of the given inbound message.
func (c commandCall) isRunning(inbound int64) bool {
	return c.running != nil && c.running.Inbound().ID == inbound
}

// stopRunning has the running turn stopped, if there is one. It reports whether an earlier command
// has stopped it, so that it is about to end.
func (c commandCall) stopRunning(ctx context.Context) (already bool, err error) {
	if c.running == nil {
		return false, nil
	}
	c.request.Stop = c.running.Inbound().ID
	now, _, err := c.o.Store.Inbound(ctx, c.request.Stop)
	if err != nil {
		return false, fmt.Errorf("read running message: %w", err)
	}
	return now.Outcome.Status == string(terminal.Stopped), nil
}

// stopGathering drops the message that waits for further messages of its sender, who sees it as
// running. It reports false if there is none.
func (c commandCall) stopGathering(ctx context.Context) (bool, error) {
	queue, err := c.o.Store.Queue(ctx, c.in.Chat, 1)
	if err != nil {
		return false, fmt.Errorf("read queue: %w", err)
	}
	if len(queue) == 0 || !queue[0].NotBefore.After(time.Now()) {
		return false, nil
	}
	c.request.Drop = queue[0].ID
	*c.dropped = append(*c.dropped, queue[0].ID)
	return true, nil
}

// waitingText says what a /stop means for the waiting messages.
func (c commandCall) waitingText(waiting int, dropped bool) []string {
	switch {
	case waiting == 0:
		return nil
	case dropped:
		return []string{c.text(words.WaitingDropped, waiting)}
	}
	return []string{c.text(words.WaitingLeft, waiting)}
}

// cancelStopped ends the turn that a stored command has stopped. running is the turn that the
// command found.
func (i *Intake) cancelStopped(stored store.ReceiveRequest, running Turn) {
	if stored.Cancel {
		i.o.Notices.Recheck(stored.In.Chat)
		// The chat's queue is empty, and no message is queued while the chat is locked. So the turn
		// that is running or being claimed now was claimed before the command was stored.
		i.o.Lanes.AwaitClaim()
		running = i.o.Lanes.RunningTurn(stored.In.Chat)
	} else if stored.Stop == 0 && stored.Drop == 0 {
		return
	}
	if stored.Drop != 0 { // it may have been claimed before
		running = i.findTurn(stored.In.Chat, stored.Drop)
	}
	if running != nil {
		running.Cancel(i.o.Stopped) // the turn posts that it was stopped
	}
}

// stopBackgroundCommands ends the background commands of all agents in the chat, except the agent
// of the running turn, which ends its own. It returns the number of ended commands, and whether an
// agent was told to stop other work.
func (c commandCall) stopBackgroundCommands() (ended int, told bool) {
	for name, agent := range c.o.Settings().Agents {
		if c.running == nil || c.running.Agent() != name {
			n, also := agent.Runner.StopCommands(c.in.Chat.String())
			ended, told = ended+n, told || also
		}
	}
	return ended, told
}

// maxReportedDrops bounds the events about dropped turns.
const maxReportedDrops = 1000

// collectDropped lists the waiting turns, for the observers.
func (c commandCall) collectDropped(ctx context.Context) error {
	if c.o.Events == nil {
		return nil
	}
	inbounds, err := c.o.Store.Turns(ctx, store.TurnFilter{
		Chat: c.in.Chat, Outcome: string(store.Pending),
		Limit: maxReportedDrops,
	})
	if err != nil {
		return fmt.Errorf("read waiting messages: %w", err)
	}
	for _, i := range inbounds {
		*c.dropped = append(*c.dropped, i.ID)
	}
	return nil
}

// waiting counts the chat's messages that no agent has read.
func (c commandCall) waiting(ctx context.Context) (int, error) {
	n, err := c.o.Store.CountPending(ctx, c.in.Chat)
	if err != nil {
		return 0, fmt.Errorf("count waiting messages: %w", err)
	}
	if c.running != nil { // what it has read stays pending until it ends
		n -= c.running.InjectedCount() - c.running.UnreadCount()
	}
	return max(n, 0), nil
}
