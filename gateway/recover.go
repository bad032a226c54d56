package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// mostAttempts is how often a turn is run in all when it keeps being cut off.
const mostAttempts = 3

// recover cleans up what a gateway that died has left: its agents are killed, its turns reported or run again, its sends resolved.
// Everything else that is pending enters the same lanes as what comes in.
func (g *Gateway) recover(ctx context.Context) error {
	items, err := g.o.Store.Stranded(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		killLeftover(item)
	}
	parcels, err := g.o.Store.InFlight(ctx)
	if err != nil {
		return err
	}
	for _, p := range parcels {
		if err := g.resolve(ctx, p); err != nil {
			return fmt.Errorf("resolve parcel %d: %w", p.ID, err)
		}
	}
	for _, item := range items {
		if err := g.recoverTurn(ctx, item); err != nil {
			return fmt.Errorf("recover turn %d: %w", item.ID, err)
		}
	}
	return nil
}

// runVariable leads the name of a turn in the environment of its agent, by which leftovers are known.
const runVariable = "NANOBOT_RUN="

// runName names an item's turns for ever, also among those of other gateways on this machine.
func runName(item store.Item) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", item.ID, item.In.Chat, item.In.ID, item.Received.UnixMicro()))
	return hex.EncodeToString(sum[:16])
}

// resolve decides about a send that was in flight. Where repeating is safe it is repeated; otherwise the settings say which way to err.
func (g *Gateway) resolve(ctx context.Context, p store.Parcel) error {
	reason := doubt + ": the gateway died while sending"
	ch := g.o.Channels[p.Out.Chat.Channel]
	if g.set().AtMostOnce && (ch == nil || !repeatable(ch)) {
		g.o.Log.Warn("message may not have been delivered", zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID))
		return g.o.Store.Settle(ctx, p.ID, store.Unknown, "", reason, time.Time{})
	}
	return g.o.Store.Settle(ctx, p.ID, store.Pending, "", reason, time.Time{})
}

// recoverTurn reports a turn that was cut off, or has it run again.
func (g *Gateway) recoverTurn(ctx context.Context, item store.Item) error {
	g.o.Log.Warn("turn was cut off", zap.Stringer("chat", item.In.Chat), zap.Int64("run", item.ID), zap.Int("attempt", item.Attempt))
	ch, ok := g.o.Channels[item.In.Chat.Channel]
	if editor, can := ch.(channels.Editor); can && item.Bubble != "" {
		g.senders.background(func() {
			ctx, cancel := context.WithTimeout(g.senders.ctx, sendTimeout)
			defer cancel()
			if err := editor.Remove(ctx, item.In.Chat, item.Bubble); err != nil {
				g.o.Log.Warn("progress bubble not removed", zap.Stringer("chat", item.In.Chat), zap.Error(err))
			}
		})
	}
	stopped, err := g.wasStopped(ctx, item)
	if err != nil {
		return err
	}
	if g.set().OnCrash == "retry" && item.Attempt < mostAttempts && !stopped {
		return g.o.Store.Restart(ctx, item.ID)
	}
	if ok && !stopped {
		report := channels.Message{
			Kind: channels.Failure, Code: "INTERRUPTED",
			Text:    "I was restarted while working on this. /retry runs it again.",
			Buttons: []channels.Button{{Label: "Run again", Data: fmt.Sprintf("again:%d", item.ID)}},
		}
		if err := g.say(ctx, ch, report, letter{item: &item, place: reportPlace + item.Attempt}); err != nil {
			return err
		}
	}
	out := store.Outcome{Status: string(terminal.Stopped)}
	_, err = g.o.Store.Finish(ctx, item.ID, store.Interrupted, out)
	return err
}

// wasStopped reports whether the user had said /stop to a turn before the gateway died: the command is on disk before it is obeyed.
func (g *Gateway) wasStopped(ctx context.Context, item store.Item) (bool, error) {
	later, err := g.o.Store.Recent(ctx, item.In.Chat, 100)
	if err != nil {
		return false, err
	}
	for _, l := range later {
		if c, _, ok := parseCommand(l.In); ok && c.stops && l.ID > item.ID && l.Received.After(item.Started) {
			return true, nil
		}
	}
	return false, nil
}
