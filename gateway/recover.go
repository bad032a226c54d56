package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// mostAttempts is how often a turn is run in all when it keeps being cut off.
const mostAttempts = 3

// recover cleans up what a gateway that died has left: its agents are killed, its turns reported or run again, its sends resolved.
// Everything else that is pending enters the same lanes as what comes in.
func (g *Gateway) recover(ctx context.Context) error {
	var err error
	if g.kept, err = g.name(ctx); err != nil {
		return err
	}
	terminal.KillKept(g.kept)
	items, err := g.o.Store.Stranded(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		terminal.KillRun(runName(item), terminal.ProcessRecord(item.Process))
	}
	bubbles, err := g.o.Store.Bubbles(ctx)
	if err != nil {
		return err
	}
	for _, b := range bubbles {
		g.removeBubble(b)
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
	if err := g.o.Store.SetProcess(0, store.Process(terminal.RecordProcess(os.Getpid()))); err != nil {
		g.o.Log.Warn("own process not noted", zap.Error(err))
	}
	return nil
}

// runName names an item's turns for ever, also among those of other gateways on this machine.
func runName(item store.Item) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", item.ID, item.In.Chat, item.In.ID, item.Received.UnixMicro()))
	return hex.EncodeToString(sum[:16])
}

// resolve decides about a send that was in flight. Where repeating is safe it is repeated; otherwise the settings say which way to err.
func (g *Gateway) resolve(ctx context.Context, p store.Parcel) error {
	reason := doubt + ": the gateway died while sending"
	ch := g.o.Channels[p.Out.Chat.Channel]
	if _, edits := replacer(ch, p.Out); g.set().AtMostOnce && !edits && (ch == nil || !repeatable(ch)) {
		g.o.Log.Warn("message may not have been delivered", zap.Stringer("chat", p.Out.Chat), zap.Int64("id", p.ID))
		_, err := g.o.Store.Settle(ctx, p.ID, store.Settlement{State: store.Unknown, Reason: reason, Doubtful: true})
		return err
	}
	_, err := g.o.Store.Settle(ctx, p.ID, store.Settlement{State: store.Pending, Reason: reason, Doubtful: true})
	return err
}

// removeBubble takes away what is there only while a turn runs.
func (g *Gateway) removeBubble(b store.Bubble) {
	editor, ok := g.o.Channels[b.Chat.Channel].(channels.Editor)
	if !ok {
		return
	}
	g.senders.background(func() {
		ctx, cancel := context.WithTimeout(g.senders.ctx, sendTimeout)
		defer cancel()
		err := removeMessage(ctx, editor, b)
		if err != nil {
			g.o.Log.Warn("bubble not removed", zap.Stringer("chat", b.Chat), zap.Error(err))
		}
		if g.senders.ctx.Err() != nil || waitOf(err) > 0 {
			return // the next start tries again
		}
		if err := g.o.Store.DropBubble(g.senders.ctx, b); err != nil {
			g.o.Log.Warn("bubble not forgotten", zap.Stringer("chat", b.Chat), zap.Error(err))
		}
	})
}

// removeMessage removes a message, and waits for that when the network asks for it, within reason.
func removeMessage(ctx context.Context, editor channels.Editor, b store.Bubble) error {
	for {
		err := editor.Remove(ctx, b.Chat, b.ID)
		if wait := waitOf(err); wait <= 0 || wait > longestPause || !retry.Sleep(ctx, wait) {
			return err
		}
	}
}

// waitOf is how long a network asks to wait.
func waitOf(err error) time.Duration {
	var se *channels.SendError
	if errors.As(err, &se) && !se.Permanent {
		return se.After
	}
	return 0
}

// recoverTurn reports a turn that was cut off, or has it run again. One that had not begun always runs.
func (g *Gateway) recoverTurn(ctx context.Context, item store.Item) error {
	if revoked, err := g.recoverRevoked(ctx, item); revoked || err != nil {
		return err
	}
	stopped := item.Outcome.Status == string(terminal.Stopped) // the user had said so, and it was on disk before it was obeyed
	if !stopped && terminal.ProcessRecord(item.Process).NeverStarted() {
		return g.o.Store.Requeue(ctx, item.ID, true)
	}
	g.o.Log.Warn("turn was cut off", zap.Stringer("chat", item.In.Chat), zap.Int64("run", item.ID), zap.Int("attempt", item.Attempt))
	if g.set().OnCrash == "retry" && item.Attempt < mostAttempts && !stopped {
		return g.o.Store.Requeue(ctx, item.ID, false)
	}
	if ch, ok := g.o.Channels[item.In.Chat.Channel]; ok && !stopped {
		report := channels.Message{
			Kind: channels.Failure, Code: "INTERRUPTED",
			Text:    "I was restarted while working on this. /retry runs it again.",
			Buttons: []channels.Button{{Label: "Run again", Data: fmt.Sprintf("again:%d", item.ID)}},
		}
		if err := g.say(ctx, ch, report, letter{item: &item, place: reportPlace + item.Attempt}); err != nil {
			return err
		}
	}
	_, err := g.o.Store.Finish(ctx, item.ID, store.Interrupted, store.Outcome{Status: string(terminal.Stopped)})
	return err
}
