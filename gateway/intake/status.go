package intake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// shownTurns and shownDeliveries bound the lists of /status.
const shownTurns, shownDeliveries = 5, 5

func (c commandCall) status(ctx context.Context) (string, error) {
	c.reply.Private = true
	var b strings.Builder
	if t := c.o.Lanes.RunningTurn(c.in.Chat); t != nil {
		what, began := "Running", t.StartTime()
		if awaits := t.WaitingSince(); !awaits.IsZero() {
			what, began = "Waiting for you", awaits
		}
		fmt.Fprintf(&b, "%s for %s%s: %s\n", what, elapsedSince(began), c.byAgent(t.Agent()), excerpt(t.Inbound().In.Text))
	} else {
		b.WriteString("Nothing is running.\n")
	}
	if err := c.writeAgentLine(ctx, &b); err != nil {
		return "", err
	}
	waiting, err := c.waiting(ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "Waiting: %d\n", waiting)
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
	agent, _, err := c.chosenAgent(ctx, c.in.Chat)
	if err != nil {
		return err
	}
	about, err := c.o.AgentInfo(ctx, c.in.Chat, agent)
	if err != nil {
		return err
	}
	var words []string
	if c.severalAgents() {
		words = append(words, agent)
	}
	if about.Line != "" {
		words = append(words, channels.FirstLine(about.Line, 0))
	}
	if len(words) > 0 {
		fmt.Fprintf(b, "Agent: %s\n", strings.Join(words, ": "))
	}
	return nil
}

// byAgent names the agent of a turn, if there are several.
func (c commandCall) byAgent(agent string) string {
	if !c.severalAgents() {
		return ""
	}
	return " (agent " + agent + ")"
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
			b.WriteString("Last turns:\n")
		}
		fmt.Fprintf(b, "- %s%s, %s%s: %s\n", outcomeWords(inbound), c.byAgent(inbound.Agent), inbound.Ended.Sub(inbound.Started).Round(100*time.Millisecond), usageWords(inbound.Outcome), excerpt(inbound.In.Text))
	}
	return nil
}

func outcomeWords(inbound store.Inbound) string {
	switch o := inbound.Outcome; {
	case inbound.State == store.Interrupted:
		return "cut off"
	case o.Signal != "":
		return o.Status + " (" + o.Signal + ")"
	case o.ExitCode != 0:
		return fmt.Sprintf("%s (exit code %d)", o.Status, o.ExitCode)
	default:
		return o.Status
	}
}

// usageWords describes the resources that a turn has used.
func usageWords(o store.Outcome) (words string) {
	if cpu := o.CPU.Round(100 * time.Millisecond); cpu > 0 {
		words += fmt.Sprintf(", CPU %s", cpu)
	}
	if o.Memory > 0 {
		words += fmt.Sprintf(", %d MiB", o.Memory>>20)
	}
	return words
}

func (c commandCall) writeUndelivered(ctx context.Context, b *strings.Builder) error {
	deliveries, err := c.o.Store.Undelivered(ctx, c.in.Chat, shownDeliveries)
	if err != nil {
		return fmt.Errorf("read undelivered messages: %w", err)
	}
	for i, p := range deliveries {
		if i == 0 {
			b.WriteString("Not delivered:\n")
		}
		fmt.Fprintf(b, "- %s for %s: %s\n", p.State, elapsedSince(p.Queued), excerpt(p.Out.Text))
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
