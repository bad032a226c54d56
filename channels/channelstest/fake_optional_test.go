package channelstest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/channels"
)

var (
	_ channels.Replacer       = fake{}
	_ channels.FileLimiter    = fake{}
	_ channels.Typer          = fake{}
	_ channels.Repeater       = fake{}
	_ channels.Resumer        = fake{}
	_ channels.CursorKeeper   = fake{}
	_ channels.MemoryUser     = fake{}
	_ channels.Mounter        = fake{}
	_ channels.Streamer       = fake{}
	_ channels.Publisher      = fake{}
	_ channels.HealthReporter = fake{}
	_ channels.Menu           = fake{}
	_ channels.ChatMenu       = fake{}
	_ channels.Examiner       = fake{}
	_ channels.Closer         = fake{}
)

// fakeToken is the fake's secret.
const fakeToken = "s3cret"

// optional is what the network tells the checks of the optional interfaces.
func (n *network) optional() Optional {
	return Optional{
		VisibleTexts: func() (out []string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, s := range n.shown {
				out = append(out, s.text)
			}
			return out
		},
		TypingCount:      func() int { return locked(n, func() int { return n.typing }) },
		Restart:          func() channels.Channel { return fake{n, &own{memory: n.memory}} },
		Memory:           n.memory,
		UserSendsInParts: n.sayInParts,
		AdvanceCursor:    func() { n.add(saying{text: "not to the bot"}) },
		Menu:             func() []string { return locked(n, func() []string { return n.menu }) },
		ChatMenu:         func() []string { return locked(n, func() []string { return n.chat }) },
		BreakReceiving: func() func() {
			n.setDown(true)
			return func() { n.setDown(false) }
		},
		OpenStream: n.connect,
		Disconnect: func() { n.setDown(true) },
		Secrets:    []string{fakeToken},
	}
}

// locked reads something of the network.
func locked[T any](n *network, read func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return read()
}

func (n *network) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	n.poke()
}

// line is an operator's connection.
type line struct {
	events chan event
	ended  chan struct{}
}

type event struct {
	name string
	data map[string]any
}

func (n *network) connect() OperatorStream {
	l := &line{events: make(chan event, 100), ended: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines[l] = true
	return OperatorStream{
		Close: func() { n.cut(l) },
		Next: func(name string) (map[string]any, bool) {
			for {
				select {
				case e := <-l.events:
					if e.name == name {
						return e.data, true
					}
				case <-l.ended:
					return nil, false
				case <-time.After(patience):
					return nil, true
				}
			}
		},
	}
}

func (n *network) cut(l *line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.end(l)
}

func (n *network) end(l *line) {
	if n.lines[l] {
		delete(n.lines, l)
		close(l.ended)
	}
}

func (f fake) Edit(_ context.Context, id string, o channels.Outgoing) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for i, s := range f.net.shown {
		if s.id == id {
			f.net.shown[i].text = o.Text
			return nil
		}
	}
	return &channels.SendError{Err: channels.ErrGone, Permanent: true}
}

func (f fake) Remove(_ context.Context, _ channels.Chat, id string) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.shown = slices.DeleteFunc(f.net.shown, func(s shown) bool { return s.id == id })
	return nil
}

func (f fake) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, f.Edit(ctx, id, o)
}

func (f fake) FileLimit(channels.Chat) (int64, string) { return 1 << 20, "files up to 1 MB" }

func (f fake) Typing(ctx context.Context, _ channels.Chat) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	if ctx.Err() == nil {
		f.net.typing++
	}
	return ctx.Err()
}

func (f fake) Repeatable() bool { return true }

func (f fake) Resume(cursor string) { f.at, _ = strconv.Atoi(cursor) }

func (f fake) KeepCursor(keep func(ctx context.Context, cursor string) error) { f.keep = keep }

func (f fake) SetMemory(m channels.Memory) { f.memory = m }

func (f fake) Mount() (string, http.Handler) {
	return "POST /fake", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
}

func (f fake) CloseStreams() {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for l := range f.net.lines {
		f.net.end(l)
	}
}

func (f fake) Watched() bool { return locked(f.net, func() bool { return len(f.net.lines) > 0 }) }

func (f fake) Publish(name string, data any) {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for l := range f.net.lines {
		select {
		case l.events <- event{name, data.(map[string]any)}:
		default:
			f.net.end(l)
		}
	}
}

func (f fake) Health() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble
}

func (f fake) SetMenu(commands []channels.Command) { f.menu = slices.Clone(commands) }

func (f fake) showMenu() {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.menu = allowed(f.menu)
}

func (f fake) SetChatMenu(_ context.Context, _ channels.Chat, commands []channels.Command) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.chat = allowed(slices.Concat(f.menu, commands))
	return nil
}

// allowed are the names that the network takes.
func allowed(commands []channels.Command) (out []string) {
	for _, c := range commands {
		if !strings.Contains(c.Name, " ") {
			out = append(out, c.Name)
		}
	}
	return out
}

func (f fake) Examine(context.Context, channels.ExamineOptions) []channels.Finding {
	if _, _, err := f.net.next(0); err != nil {
		return []channels.Finding{{Check: "fake.network", Status: channels.Bad, Detail: err.Error(), Fix: "wait"}}
	}
	return []channels.Finding{{Check: "fake.network", Status: channels.Good, Detail: fmt.Sprintf("%d runes fit", maxRunes)}}
}

func (f fake) Close() error { return nil }
