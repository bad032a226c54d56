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
	"nanobot/internal/words"
)

var (
	_ channels.Replacer         = fakeChannel{}
	_ channels.QuestionCloser   = fakeChannel{}
	_ channels.Drafter          = fakeChannel{}
	_ channels.Reactor          = fakeChannel{}
	_ channels.FileLimiter      = fakeChannel{}
	_ channels.ConnectionKeeper = fakeChannel{}
	_ channels.Typer            = fakeChannel{}
	_ channels.Repeater         = fakeChannel{}
	_ channels.ChatLocator      = fakeChannel{}
	_ channels.Linker           = fakeChannel{}
	_ channels.ChatChecker      = fakeChannel{}
	_ channels.Resumer          = fakeChannel{}
	_ channels.CursorKeeper     = fakeChannel{}
	_ channels.MemoryUser       = fakeChannel{}
	_ channels.Mounter          = fakeChannel{}
	_ channels.Streamer         = fakeChannel{}
	_ channels.Publisher        = fakeChannel{}
	_ channels.HealthReporter   = fakeChannel{}
	_ channels.WordsUser        = fakeChannel{}
	_ channels.Menu             = fakeChannel{}
	_ channels.MenuReader       = fakeChannel{}
	_ channels.ChatMenu         = fakeChannel{}
	_ channels.Examiner         = fakeChannel{}
	_ channels.Closer           = fakeChannel{}
)

// fakeToken is the secret of fakeChannel.
const fakeToken = "s3cret"

// optional returns the fields of Optional for this network.
func (n *network) optional() Optional {
	return Optional{
		VisibleTexts: func() (out []string) {
			n.mu.Lock()
			defer n.mu.Unlock()
			for _, s := range n.visible {
				out = append(out, s.text)
			}
			return out
		},
		DraftText: func() string { return withLock(n, func() string { return n.draft }) },
		MessageToReact: func() (channels.Chat, string, func() []string) {
			shown := func() []string { return withLock(n, func() []string { return n.reactions }) }
			return channels.Chat{Channel: "fake", ID: "group"}, "1", shown
		},
		TypingCount:      func() int { return withLock(n, func() int { return n.typingCount }) },
		Restart:          func() channels.Channel { return fakeChannel{n, &channelState{memory: n.memory}} },
		Memory:           n.memory,
		UserSendsInParts: n.userSendsInParts,
		AdvanceCursor:    func() { n.addUserMessage(userMessage{text: "not to the bot"}) },
		Menu:             func() []string { return withLock(n, func() []string { return n.menu }) },
		ChatMenu:         func() []string { return withLock(n, func() []string { return n.chatMenu }) },
		BreakReceiving: func() func() {
			n.setDown(true)
			return func() { n.setDown(false) }
		},
		OpenStream: n.connect,
		Disconnect: func() { n.setDown(true) },
		Secrets:    []string{fakeToken},
	}
}

// CloseQuestion removes the buttons of the newest message.
func (f fakeChannel) CloseQuestion(_ context.Context, _ channels.Chat, id, _ string) error {
	if !f.net.isVisible(id, "") {
		return &channels.SendError{Err: errMissing, Permanent: true}
	}
	return withLock(f.net, func() error { f.net.buttons = nil; return nil })
}

// withLock calls read while the network is locked.
func withLock[T any](n *network, read func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return read()
}

func (n *network) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	n.wakeRun()
}

// operatorConn is the connection of an operator.
type operatorConn struct {
	events chan event
	ended  chan struct{}
}

type event struct {
	name string
	data map[string]any
}

func (n *network) connect() OperatorStream {
	l := &operatorConn{events: make(chan event, 100), ended: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.operators[l] = true
	return OperatorStream{
		Close: func() { n.disconnect(l) },
		Next: func(name string) (map[string]any, bool) {
			for {
				select {
				case e := <-l.events:
					if e.name == name {
						return e.data, true
					}
				case <-l.ended:
					return nil, false
				case <-time.After(waitLimit):
					return nil, true
				}
			}
		},
	}
}

func (n *network) disconnect(l *operatorConn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closeLocked(l)
}

func (n *network) closeLocked(l *operatorConn) {
	if n.operators[l] {
		delete(n.operators, l)
		close(l.ended)
	}
}

func (f fakeChannel) Edit(_ context.Context, id string, o channels.Outgoing) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for i, s := range f.net.visible {
		if s.id == id {
			f.net.visible[i].text = o.Text
			return nil
		}
	}
	return &channels.SendError{Err: channels.ErrGone, Permanent: true}
}

func (f fakeChannel) Remove(_ context.Context, _ channels.Chat, id string) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.visible = slices.DeleteFunc(f.net.visible, func(s visibleMessage) bool { return s.id == id })
	return nil
}

func (f fakeChannel) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, f.Edit(ctx, id, o)
}

func (f fakeChannel) Drafts(channels.Chat) bool { return true }

func (f fakeChannel) Draft(_ context.Context, _ string, o channels.Outgoing) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.draft = o.Text
	return nil
}

func (f fakeChannel) Reacts(channels.Chat) bool { return true }

func (f fakeChannel) React(_ context.Context, _ channels.Chat, _ string, r channels.Reaction) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.reactions = nil
	if r != channels.NoReaction {
		f.net.reactions = []string{string(r)}
	}
	return nil
}

func (f fakeChannel) FileLimit(_ channels.Chat, language string) (int64, string) {
	return 1 << 20, f.words.For(language).Text(words.LimitOfPage, 1)
}

func (f fakeChannel) SetWords(c *words.Catalogue) { f.words = c }

func (f fakeChannel) CloseIdleConnections() {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.connected = false
}

func (f fakeChannel) Typing(ctx context.Context, _ channels.Chat) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	if ctx.Err() == nil {
		f.net.typingCount++
	}
	return ctx.Err()
}

func (f fakeChannel) Repeatable() bool { return true }

func (f fakeChannel) LocateChat(string) (parent, topic string, group bool) { return "", "", false }

func (f fakeChannel) LinkMessage(chat channels.Chat, _ bool, id string) string {
	if n, err := strconv.Atoi(id); err != nil || n < 0 || chat != testChat {
		return ""
	}
	return "https://fake.example/" + id
}

func (f fakeChannel) CheckChat(id string) error {
	if id != testChat.ID {
		return errMissing
	}
	return nil
}

func (f fakeChannel) Resume(cursor string) { f.received, _ = strconv.Atoi(cursor) }

func (f fakeChannel) KeepCursor(keep func(ctx context.Context, cursor string) error) {
	f.storeCursor = keep
}

func (f fakeChannel) SetMemory(m channels.Memory) { f.memory = m }

func (f fakeChannel) Mount() (string, http.Handler) {
	return "POST /fake", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
}

func (f fakeChannel) CloseStreams() {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for l := range f.net.operators {
		f.net.closeLocked(l)
	}
}

func (f fakeChannel) Watched() bool {
	return withLock(f.net, func() bool { return len(f.net.operators) > 0 })
}

func (f fakeChannel) Publish(name string, data any) {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	for l := range f.net.operators {
		select {
		case l.events <- event{name, data.(map[string]any)}:
		default:
			f.net.closeLocked(l)
		}
	}
}

func (f fakeChannel) Health() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.healthErr
}

func (f fakeChannel) SetMenu(commands []channels.Command) { f.menu = slices.Clone(commands) }

func (f fakeChannel) SetMenuSource(channels.MenuSource) {}

func (f fakeChannel) showMenu() {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.menu = validNames(f.menu)
}

func (f fakeChannel) SetChatMenu(_ context.Context, _ channels.Chat, commands []channels.Command) error {
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.chatMenu = validNames(slices.Concat(f.menu, commands))
	return nil
}

// validNames returns the names that the network accepts.
func validNames(commands []channels.Command) (out []string) {
	for _, c := range commands {
		if !strings.Contains(c.Name, " ") {
			out = append(out, c.Name)
		}
	}
	return out
}

func (f fakeChannel) Examine(context.Context, channels.ExamineOptions) []channels.Finding {
	if _, _, err := f.net.userMessageAt(0); err != nil {
		return []channels.Finding{{Check: "fake.network", Status: channels.Bad, Detail: err.Error(), Fix: "wait"}}
	}
	if f.token != "" {
		return []channels.Finding{{Check: "fake.token", Status: channels.Bad, Detail: errWrongToken.Error(), Fix: "change channels.fake.token"}}
	}
	return append(f.net.compareClocks(), channels.Finding{Check: "fake.network", Status: channels.Good, Detail: fmt.Sprintf("%d runes fit", maxRunes)})
}

func (f fakeChannel) Close() error { return nil }
