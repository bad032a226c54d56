package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/outbox"
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
	if err := g.outbox.Recover(ctx); err != nil {
		return err
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
	if g.set().OnCrash == RetryCrash && item.Attempt < mostAttempts && !stopped {
		return g.o.Store.Requeue(ctx, item.ID, false)
	}
	if _, ok := g.o.Channels[item.In.Chat.Channel]; ok && !stopped {
		report := outbox.Reply(item, channels.Message{
			Kind: channels.Failure, Code: "INTERRUPTED",
			Text:    "I was restarted while working on this. /retry runs it again.",
			Buttons: []channels.Button{{Label: "Run again", Data: fmt.Sprintf("again:%d", item.ID)}},
		})
		report.Place = outbox.ReportPlace + item.Attempt
		if err := g.outbox.Post(ctx, report); err != nil {
			return err
		}
	}
	_, err := g.o.Store.Finish(ctx, item.ID, store.Interrupted, store.Outcome{Status: string(terminal.Stopped)})
	return err
}
