package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/turn"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// Direct runs turns without a store: the agent's output is sent immediately. It is for a chat in a
// terminal, and is safe for concurrent use.
type Direct struct {
	Runner *terminal.Runner
	// HideProgress drops progress frames.
	HideProgress bool
	// ShowDrafts shows unfinished messages.
	ShowDrafts bool
	// ShowCaptions shows the changing text above a screen as progress, without the screen.
	ShowCaptions bool
	// Answer, if not nil, reads the person's answer to a question, or returns io.EOF when they
	// leave. If it is nil, questions are not answered.
	Answer func(ctx context.Context) (string, error)
	// AnswerSecret is Answer for a password, which must not be shown.
	AnswerSecret func(ctx context.Context) (string, error)
	// Dismissed, if not nil, gets what the person writes instead of an answer to a question that
	// ends by other text. It is their next message. If it is nil, such questions are asked again.
	Dismissed func(text string)
	// Listen, if not nil, reads the person's messages while a turn waits for them, or returns
	// io.EOF when they leave. If it is nil, there are no messages.
	Listen func(ctx context.Context) (channels.Incoming, error)
	// Words are the words for the person.
	Words words.Words
	Log   *zap.Logger

	memories sync.Map   // by chat
	inputMu  sync.Mutex // locked while a question is open, and while a message is read
}

// Close waits for the running turns and ends the persistent agents.
func (g *Direct) Close() { g.Runner.Close() }

// sessionMemory is the memory of a chat until the program ends.
type sessionMemory struct {
	mu           sync.Mutex
	texts        map[terminal.MemoryKey]string
	conversation string // since the last NewConversation; "": there was none
}

// Load returns the text that was saved last.
func (p *sessionMemory) Load(_ context.Context, key terminal.MemoryKey) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.texts[key], nil
}

// Save stores a text for the next turns.
func (p *sessionMemory) Save(_ context.Context, key terminal.MemoryKey, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts[key] = text
	return nil
}

func (p *sessionMemory) conversationID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conversation
}

func (g *Direct) memory(chat channels.Chat) *sessionMemory {
	m, _ := g.memories.LoadOrStore(chat, &sessionMemory{texts: map[terminal.MemoryKey]string{}})
	return m.(*sessionMemory)
}

// NewConversation ends what the agent's protocol remembers of a chat, as /new does.
func (g *Direct) NewConversation(chat channels.Chat) {
	g.Runner.EndSession(chat.String())
	m := g.memory(chat)
	m.mu.Lock()
	defer m.mu.Unlock()
	// The name must differ from those of earlier processes, because the chat's folder outlives
	// them.
	delete(m.texts, terminal.ConversationMemory)
	m.conversation = strconv.FormatInt(time.Now().UnixMicro(), 10)
}

// Turn works on one incoming message: it runs the agent and sends its output to the channel
// immediately. An error means that the gateway has failed; the chat was told.
func (g *Direct) Turn(ctx context.Context, ch channels.Channel, in channels.Incoming) (terminal.Outcome, error) {
	// Output printed before a stop is still delivered, so sending outlives the turn's context.
	sending := context.WithoutCancel(ctx)
	r := reply{ch: ch, in: in}
	run := rand.Text()
	log := g.Log.With(zap.Stringer("chat", in.Chat), zap.String("run", run))
	began := time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	chat := &directChat{Direct: g, reply: r, memory: g.memory(in.Chat), log: log, stop: stop}
	chat.show = func(m channels.Message) error { return r.send(sending, m) }
	req := turn.RequestFor(in, run)
	req.Words, req.ConversationID = g.Words, chat.memory.conversationID()
	out, err := g.Runner.Turn(ctx, req, chat)
	if err != nil {
		log.Error("turn failed", zap.Duration("took", time.Since(began)), zap.Error(err))
		if serr := chat.show(turn.CouldNotRunMessage(g.Words)); serr != nil {
			log.Warn("chat not notified", zap.Error(serr))
		}
		return out, err
	}
	log.Info("turn ended", zap.String("status", string(out.Status)), zap.Int("exit", out.ExitCode),
		zap.String("signal", out.Signal), zap.Duration("took", time.Since(began)))
	return out, nil
}

// directMessage returns the chat message for a frame. The choices of the person are its buttons.
func directMessage(f terminal.Frame) channels.Message {
	m := turn.FrameMessage(f)
	for _, label := range f.Choices {
		m.Buttons = append(m.Buttons, channels.Button{Label: label, Data: label})
	}
	return m
}

// boardDiff finds the new lines of a board.
type boardDiff struct{ shown []string } // the lines of the previous board

// newLines returns the lines of a board that the previous one did not have.
func (b *boardDiff) newLines(text string) string {
	lines := strings.Split(text, "\n")
	before := b.shown
	b.shown = slices.Clone(lines)
	fresh := slices.DeleteFunc(lines, func(line string) bool {
		at := slices.Index(before, line)
		if at >= 0 { // each line counts once, since it may be repeated
			before = slices.Delete(before, at, at+1)
		}
		return at >= 0
	})
	return strings.TrimSpace(strings.Join(fresh, "\n"))
}

// reply sends messages to the chat of an incoming message.
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
