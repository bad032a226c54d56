package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// Direct runs turns without keeping anything: what the agent says is sent as it comes. It is for a
// chat in which somebody sits and watches, and is safe for concurrent use.
type Direct struct {
	Runner *terminal.Runner
	// HideProgress drops progress frames.
	HideProgress bool
	// ShowCaptions shows the text above a screen that changes as progress, without the screen.
	ShowCaptions bool
	// Answer, if not nil, reads what the person says to a question of the agent; io.EOF when they
	// leave instead. Otherwise nobody answers.
	Answer func(ctx context.Context) (string, error)
	// Listen, if not nil, reads what the person says while a turn waits for their messages; io.EOF
	// when they leave instead. Otherwise nobody says anything.
	Listen func(ctx context.Context) (channels.Incoming, error)
	Log    *zap.Logger

	memories sync.Map   // by chat
	asking   sync.Mutex // held while a question is open, and while a message is read
}

// Close waits for the turns that run and ends the agents that are kept.
func (g *Direct) Close() { g.Runner.Close() }

// passing is the memory of a chat for as long as somebody sits and watches.
type passing struct {
	mu            sync.Mutex
	text, lasting string
}

// Load returns what was saved last.
func (p *passing) Load(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, nil
}

// Save keeps something for the next turns.
func (p *passing) Save(_ context.Context, s string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = s
	return nil
}

// LoadLasting returns what was saved last of what stays.
func (p *passing) LoadLasting(context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lasting, nil
}

// SaveLasting keeps something for good.
func (p *passing) SaveLasting(_ context.Context, s string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lasting = s
	return nil
}

// Turn works on one incoming message: it runs the agent and sends what it says to the channel as it
// comes. The error says what the gateway could not do; the chat has been told that something went
// wrong.
func (g *Direct) Turn(ctx context.Context, ch channels.Channel, in channels.Incoming) (terminal.Outcome, error) {
	// What was printed before a stop is still delivered, so sending outlives the turn's context.
	sending := context.WithoutCancel(ctx)
	r := reply{ch: ch, in: in}
	run := rand.Text()
	log := g.Log.With(zap.Stringer("chat", in.Chat), zap.String("run", run))
	began := time.Now()
	req := turn.RequestFor(in, run)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	req.Ask, req.AwaitPerson = g.ask(r, stop), g.awaitPerson(r, stop)
	known, _ := g.memories.LoadOrStore(in.Chat, &passing{})
	req.Memory = known.(*passing)
	var boards boardNews
	out, err := g.Runner.Turn(ctx, req, func(f terminal.Frame) error {
		if f.Kind == terminal.Partial || f.Kind == terminal.Progress && g.HideProgress {
			return nil
		}
		if f.Board { // shown whole again and again it would fill the terminal
			if f.Text = boards.next(f.Text); f.Text == "" || f.Screen != nil && !g.ShowCaptions {
				return nil
			}
		}
		if f.Kind == terminal.Progress {
			f.Screen, f.Buttons = nil, nil
		}
		return r.send(sending, turn.FrameMessage(g.retain(in.Chat.ID, f, log)))
	})
	if err != nil {
		log.Error("turn failed", zap.Duration("took", time.Since(began)), zap.Error(err))
		if serr := r.send(sending, turn.CouldNotRunMessage()); serr != nil {
			log.Warn("chat not notified", zap.Error(serr))
		}
		return out, err
	}
	log.Info("turn ended", zap.String("status", string(out.Status)), zap.Int("exit", out.ExitCode), zap.String("signal", out.Signal), zap.Duration("took", time.Since(began)))
	return out, nil
}

// boardNews finds what is new on a board.
type boardNews struct{ shown []string } // the lines of the board before

// next returns the lines of a board that the one before did not have.
func (b *boardNews) next(text string) string {
	lines := strings.Split(text, "\n")
	before := b.shown
	b.shown = slices.Clone(lines)
	fresh := slices.DeleteFunc(lines, func(line string) bool {
		at := slices.Index(before, line)
		if at >= 0 { // it counts once: the same line may be there again
			before = slices.Delete(before, at, at+1)
		}
		return at >= 0
	})
	return strings.TrimSpace(strings.Join(fresh, "\n"))
}

// reply sends to the chat that a message came from.
type reply struct {
	ch channels.Channel
	in channels.Incoming
}

func (r reply) send(ctx context.Context, m channels.Message) error {
	m.Chat, m.ReplyTo = r.in.Chat, r.in.ID
	parts, err := r.ch.Plan(m)
	if err != nil {
		return fmt.Errorf("plan message: %w", err)
	}
	for _, o := range parts {
		if _, err := r.ch.Send(ctx, o); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	return nil
}
