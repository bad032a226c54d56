package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// shownTurns and shownDeliveries bound the lists of /status.
const shownTurns, shownDeliveries = 5, 5

func (c commandCall) status(ctx context.Context) (string, error) {
	c.reply.Private = true
	var b strings.Builder
	left := c.leftCommandsText()
	if t := c.o.Lanes.RunningTurn(c.in.Chat); t != nil {
		what, began := words.StatusRunning, t.StartTime()
		if awaits := t.WaitingSince(); !awaits.IsZero() {
			what, began = words.StatusWaitingForYou, awaits
		}
		b.WriteString(c.text(what, elapsedSince(began), c.byAgent(t.Agent()), c.onMember(),
			excerpt(t.Inbound().In.Text)) + "\n")
	} else if left == "" {
		b.WriteString(c.text(words.NothingRunning) + "\n")
	}
	if left != "" {
		b.WriteString(left + "\n")
	}
	if err := c.writeAgentLine(ctx, &b); err != nil {
		return "", err
	}
	waiting, err := c.waiting(ctx)
	if err != nil {
		return "", err
	}
	b.WriteString(c.text(words.StatusWaiting, waiting) + "\n")
	if err := c.writeLastTurns(ctx, &b); err != nil {
		return "", err
	}
	if err := c.writeUndelivered(ctx, &b); err != nil {
		return "", err
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// writeAgentLine writes the chat's agent, if there are several, and its own status line.
func (c commandCall) writeAgentLine(ctx context.Context, b *strings.Builder) error {
	agent := c.in.Answerer.Agent
	about, err := c.o.AgentInfo(ctx, c.in.Chat, agent)
	if err != nil {
		return err
	}
	var shown []string
	if c.o.Choice.Several() {
		shown = append(shown, agent)
	}
	if about.Line != "" {
		shown = append(shown, channels.FirstLine(about.Line, 0))
	}
	if len(shown) > 0 {
		b.WriteString(c.text(words.StatusAgent, strings.Join(shown, ": ")) + "\n")
	}
	a, ok := c.o.Settings().Agents[agent]
	if !ok { // a reload has removed it
		return nil
	}
	if warm := a.Runner.WarmAgents(); warm > 0 {
		b.WriteString(c.text(words.StatusWarm, warm) + "\n")
	}
	if restarted, key := a.Runner.RestartedAgents(); restarted > 0 {
		b.WriteString(c.text(words.StatusRestarted, restarted, key) + "\n")
	}
	return nil
}

// byAgent names the agent of a turn, if there are several.
func (c commandCall) byAgent(agent string) string {
	if !c.o.Choice.Several() {
		return ""
	}
	return c.text(words.StatusByAgent, agent)
}

// onMember names this member, if there are several. It runs the turn: what people write during a
// turn is forwarded to the member that runs it.
func (c commandCall) onMember() string {
	name := store.MemberName(c.o.Store.Member())
	if name == "" {
		return ""
	}
	return c.text(words.StatusOnMember, channels.EscapeMarkdown(name))
}

func (c commandCall) writeLastTurns(ctx context.Context, b *strings.Builder) error {
	inbounds, err := c.o.Store.Recent(ctx, c.in.Chat, 4*shownTurns)
	if err != nil {
		return fmt.Errorf("read last messages: %w", err)
	}
	shown := 0
	for _, inbound := range inbounds {
		if inbound.Started.IsZero() || inbound.Ended.IsZero() || shown == shownTurns {
			continue
		}
		if shown++; shown == 1 {
			b.WriteString(c.text(words.StatusLastTurns) + "\n")
		}
		took := inbound.Ended.Sub(inbound.Started).Round(100 * time.Millisecond)
		b.WriteString(c.text(words.StatusTurn, c.outcomeText(inbound), c.byAgent(inbound.Agent), took,
			c.usageText(inbound.Outcome), excerpt(inbound.In.Text)) + "\n")
	}
	return nil
}

// outcomeText describes how a turn has ended.
func (c commandCall) outcomeText(inbound store.Inbound) string {
	o := inbound.Outcome
	status := o.Status
	if key, ok := terminal.Statuses[terminal.Status(o.Status)]; ok {
		status = c.text(key)
	}
	switch {
	case inbound.State == store.Interrupted:
		return c.text(words.OutcomeCutOff)
	case o.Signal != "":
		return status + " (" + o.Signal + ")"
	case o.ExitCode != 0:
		return c.text(words.StatusExitCode, status, o.ExitCode)
	default:
		return status
	}
}

// deliveryKeys are the texts of the states of an undelivered message.
var deliveryKeys = map[store.State]words.Key{
	store.Pending: words.DeliveryPending, store.Sending: words.DeliverySending,
	store.Failed: words.DeliveryFailed, store.Unknown: words.DeliveryUnknown,
}

// usageText describes the resources that a turn has used.
func (c commandCall) usageText(o store.Outcome) (text string) {
	if cpu := o.CPU.Round(100 * time.Millisecond); cpu > 0 {
		text += c.text(words.StatusCPU, cpu)
	}
	if o.Memory > 0 {
		text += c.text(words.StatusMemory, o.Memory>>20)
	}
	return text
}

func (c commandCall) writeUndelivered(ctx context.Context, b *strings.Builder) error {
	deliveries, err := c.o.Store.Undelivered(ctx, c.in.Chat, shownDeliveries)
	if err != nil {
		return fmt.Errorf("read undelivered messages: %w", err)
	}
	for i, delivery := range deliveries {
		if i == 0 {
			b.WriteString(c.text(words.StatusUndelivered) + "\n")
		}
		b.WriteString(c.text(words.StatusDelivery, c.text(deliveryKeys[delivery.State]), elapsedSince(delivery.Queued),
			excerpt(delivery.Out.Text)) + "\n")
	}
	return nil
}

func elapsedSince(t time.Time) time.Duration { return time.Since(t).Round(time.Second) }

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return string(runes)
}
