package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/display"
	"nanobot/gateway/outbox"
	"nanobot/gateway/press"
	"nanobot/gateway/store"
	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// maxAttempts bounds how often a turn that keeps being cut off is run.
const maxAttempts = 3

// KillLeftover kills the persistent agents that an earlier run of the gateway has left.
func (s *Stage) KillLeftover(ctx context.Context) error {
	var err error
	if s.name, err = s.o.Store.FolderName(ctx); err == nil {
		process.KillPersistent(s.name)
	}
	return err
}

// KillAgents kills the agents of adopted turns. It is called before Recover.
func (s *Stage) KillAgents(adopted []store.Inbound) {
	for _, inbound := range adopted {
		process.KillRun(RunName(inbound), process.Record(inbound.Process))
	}
}

// Recover reports or retries the turns that were adopted from an earlier run of the gateway, and
// folds the boards of turns that had ended. After an error it may be called again: recovered turns
// are no longer in the state running.
func (s *Stage) Recover(ctx context.Context, adopted store.Adopted) error {
	for _, inbound := range adopted.Inbounds {
		s.o.Outbox.EndScreen(ctx, inbound.In.Chat, inbound.ID, time.Time{})
		if err := s.recoverTurn(ctx, inbound); err != nil && !errors.Is(err, store.ErrState) {
			return fmt.Errorf("recover turn %d: %w", inbound.ID, err)
		}
	}
	for _, f := range adopted.Folds {
		display.EndFold(s.o.Channels[f.Board.Chat.Channel], s.o.Outbox, f, time.Time{})
	}
	if err := s.o.Store.SetProcess(0, store.Process(process.NewRecord(os.Getpid()))); err != nil {
		s.o.Log.Warn("own process not recorded", zap.Error(err))
	}
	return nil
}

// RunName returns a persistent name for the turns of a message, unique among all gateways of this
// machine.
func RunName(inbound store.Inbound) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%d", inbound.ID, inbound.In.Chat, inbound.In.ID,
		inbound.Received.UnixMicro()))
	return hex.EncodeToString(sum[:16])
}

// recoverTurn reports or retries a turn that was cut off. A turn whose agent never started is
// always retried.
func (s *Stage) recoverTurn(ctx context.Context, inbound store.Inbound) error {
	if revoked, err := s.dropRevoked(ctx, inbound); revoked || err != nil {
		return err
	}
	// /stop was stored before it was carried out.
	stopped := inbound.Outcome.Status == string(terminal.Stopped)
	if !stopped && process.Record(inbound.Process).NeverStarted() {
		return s.o.Store.Requeue(ctx, inbound.ID, true)
	}
	s.o.Log.Warn("turn was cut off", zap.Stringer("chat", inbound.In.Chat), zap.Int64("run", inbound.ID),
		zap.Int("attempt", inbound.Attempt))
	if s.settings.Load().OnCrash == RetryCrash && inbound.Attempt < maxAttempts && !stopped {
		return s.o.Store.Requeue(ctx, inbound.ID, false)
	}
	reaction := channels.Broken
	if stopped {
		reaction = channels.NoReaction
	}
	if _, ok := s.o.Channels[inbound.In.Chat.Channel]; ok && !stopped {
		w := s.o.Words.For(inbound.In.User.Language)
		text, err := s.interruptedText(ctx, w, inbound)
		if err != nil {
			return err
		}
		report := outbox.Reply(inbound, channels.Message{
			Kind: channels.Failure, Code: "INTERRUPTED",
			Text: text, Quote: channels.FirstLine(inbound.In.Text, maxQuote),
			Buttons: []channels.Button{{Label: w.Text(words.ButtonRunAgain), Data: press.Again(inbound.ID)}},
		})
		report.Sequence = outbox.ReportSequence + inbound.Attempt
		if err := s.o.Outbox.Post(ctx, report); err != nil {
			return err
		}
	}
	open := s.unansweredQuestions(ctx, inbound)
	_, err := s.o.Store.Finish(ctx, inbound.ID, store.Interrupted, store.Outcome{
		Status: string(terminal.Stopped), Usage: &store.TurnUsage{}, // how long it took is unknown
	})
	if err == nil {
		display.React(s.o.Outbox, inbound.In, reaction)
		s.removeButtons(inbound, open)
	}
	return err
}

// maxQuote is how much of a message the report of its interrupted turn quotes, in runes.
const maxQuote = 60

// interruptedText returns what the report of an interrupted turn says. It names /retry only if that
// would run this message: no message that waits runs before, and no later one had a turn.
func (s *Stage) interruptedText(ctx context.Context, w words.Words, inbound store.Inbound) (string, error) {
	if s.o.Executor != nil && s.o.Executor.Executes(inbound.In) {
		return w.Text(words.RestartedRun), nil
	}
	waiting, err := s.o.Store.CountPending(ctx, inbound.In.Chat)
	if err != nil {
		return "", err
	}
	command, isTask := s.resumeCommand(inbound), !strings.HasPrefix(inbound.In.Text, "/")
	if command != "" && waiting == 0 && (isTask || inbound.In.Text == "/"+command) {
		return w.Text(words.RestartedResumable, "/"+command), nil
	}
	last, _, err := store.Retried(ctx, s.o.Store, s.o.Access.AdmitsMessage, inbound.In.Chat)
	if err != nil {
		return "", err
	}
	if waiting > 0 || last.ID != inbound.ID {
		return w.Text(words.RestartedEarlier), nil
	}
	return w.Text(words.Restarted), nil
}

// resumeCommand returns the command that continues the work of the agent of a message; "": none.
func (s *Stage) resumeCommand(inbound store.Inbound) string {
	_, agent := s.settings.Load().agentFor(inbound)
	if r, ok := agent.Runner.(interface{ Controls() []terminal.Command }); ok {
		for _, c := range r.Controls() {
			if c.Resumes {
				return c.Name
			}
		}
	}
	return ""
}

// dropRevoked ends a turn that was cut off if its sender has lost access. It reports whether it
// did.
func (s *Stage) dropRevoked(ctx context.Context, inbound store.Inbound) (bool, error) {
	ok, err := s.o.Access.AdmitsMessage(ctx, inbound.In)
	if err != nil || ok && inbound.Outcome.Status != store.Revoked {
		return false, err
	}
	s.o.Log.Info("access revoked, dropping the turn that was cut off", zap.Stringer("chat", inbound.In.Chat),
		zap.Int64("run", inbound.ID))
	if !ok {
		user, _ := inbound.In.Responsible()
		if err := s.o.Store.Dismiss(ctx, store.Person{Channel: inbound.In.Chat.Channel, User: user}); err != nil {
			return false, err
		}
	}
	open := s.unansweredQuestions(ctx, inbound)
	if _, err = s.o.Store.Finish(ctx, inbound.ID, store.Done, store.Outcome{
		Status: store.Revoked, Usage: &store.TurnUsage{},
	}); err == nil {
		display.React(s.o.Outbox, inbound.In, channels.NoReaction)
		s.removeButtons(inbound, open)
	}
	return true, err
}
