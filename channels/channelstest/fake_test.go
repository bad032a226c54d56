package channelstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"nanobot/channels"
)

const (
	maxRunes = 100
	maxFiles = 10
)

// network is a small and strict chat network in memory.
type network struct {
	mu     sync.Mutex
	sent   []SentCall
	shown  []shown
	keys   map[string]string // receipts by Key
	said   []saying
	typing int
	// buttons are those of the newest message.
	buttons []channels.Button
	menu    []string
	chat    []string // the menu of the chat
	down    bool
	lines   map[*line]bool
	memory  *Memory
	wake    chan struct{}
}

// shown is a message of the bot's as the chat shows it.
type shown struct{ id, text string }

// saying is something that was said in the chat, to the bot or not.
type saying struct {
	text  string
	to    bool   // to the bot
	group string // of a part: which message it belongs to
	last  bool   // of a part: no other follows
	press string // the data of the button that was pressed, if it is a press
}

func (n *network) post(s SentCall, key string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case key != "" && n.keys[key] != "":
		return n.keys[key], nil
	case strings.TrimSpace(s.Text) == "" && len(s.Files) == 0:
		return "", errors.New("message is empty")
	case utf8.RuneCountInString(s.Text) > maxRunes:
		return "", errors.New("message is too long")
	case len(s.Files) > maxFiles:
		return "", errors.New("too many files")
	}
	n.sent = append(n.sent, s)
	id := fmt.Sprint(len(n.sent))
	n.shown = append(n.shown, shown{id, s.Text})
	if key != "" {
		n.keys[key] = id
	}
	return id, nil
}

func (n *network) seen() []SentCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

func (n *network) say(text string) { n.add(saying{text: text, to: true}) }

// sayInParts says something in two parts.
func (n *network) sayInParts(text string) {
	half := len(text) / 2
	n.add(saying{text: text[:half], group: text})
	n.add(saying{text: text[half:], group: text, last: true})
}

// press presses a button. Those of its message go, unless it stays.
func (n *network) press(label string) error {
	n.mu.Lock()
	at := slices.IndexFunc(n.buttons, func(b channels.Button) bool { return b.Label == label })
	if at < 0 {
		n.mu.Unlock()
		return errors.New("there is no such button")
	}
	b := n.buttons[at]
	if !b.Stays {
		n.buttons = nil
	}
	n.mu.Unlock()
	n.add(saying{to: true, press: b.Data})
	return nil
}

func (n *network) add(s saying) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, s)
	n.poke()
}

func (n *network) poke() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next is what was said after so many others.
func (n *network) next(at int) (s saying, ok bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return saying{}, false, errDown
	}
	if at >= len(n.said) {
		return saying{}, false, nil
	}
	return n.said[at], true, nil
}

var errDown = errors.New("the network is down")

var testChat = channels.Chat{Channel: "fake", ID: "1"}

// fake is a channel as it should be.
type fake struct {
	net *network
	*own
}

// own is what belongs to one channel on a network.
type own struct {
	mu      sync.Mutex
	at      int // how much of what was said was received
	keep    func(ctx context.Context, cursor string) error
	menu    []channels.Command
	trouble error
	memory  channels.Memory
}

var _ channels.Channel = fake{}

func newFake(*testing.T) Subject {
	net := &network{wake: make(chan struct{}, 1), keys: map[string]string{}, lines: map[*line]bool{}, memory: NewMemory()}
	return Subject{
		Channel: fake{net, &own{memory: net.memory}}, Chat: testChat, Sent: net.seen, UserSends: net.say, PressButton: net.press, Redelivers: true,
		Optional: net.optional(),
	}
}

func (f fake) Run(ctx context.Context, receive channels.Receive) error {
	f.showMenu()
	for f.completeEarlier(ctx, receive) != nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	for ctx.Err() == nil {
		s, ok, err := f.net.next(f.position())
		f.set(err)
		switch {
		case !ok:
			select {
			case <-f.net.wake:
			case <-ctx.Done():
			}
		case f.handle(ctx, receive, s) == nil:
			f.advance()
		default:
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// handle receives a message to the bot, and stores the cursor after any other.
func (f fake) handle(ctx context.Context, receive channels.Receive, s saying) error {
	n := fmt.Sprint(f.position() + 1)
	if s.group != "" {
		in := channels.Incoming{Chat: testChat, ID: n, User: channels.User{ID: "7"}, Part: &channels.Part{Group: s.group}, Raw: []byte(s.text), Cursor: n}
		if err := receive(ctx, in); err != nil || !s.last {
			return err
		}
		return f.complete(ctx, receive, s.group)
	}
	if s.to {
		return receive(ctx, channels.Incoming{Chat: testChat, ID: n, User: channels.User{ID: "7"}, Text: s.text, Press: s.press, Cursor: n})
	}
	if f.keep != nil {
		_ = f.keep(ctx, n) // the one before still holds
	}
	return nil
}

// completeEarlier completes the messages whose parts an earlier run has gathered.
func (f fake) completeEarlier(ctx context.Context, receive channels.Receive) error {
	parts, err := f.memory.Parts(ctx)
	if err != nil || len(parts) < 2 {
		return err
	}
	return f.complete(ctx, receive, parts[0].Part.Group)
}

// complete receives a message whose parts are gathered. Of one that was received before there are
// none.
func (f fake) complete(ctx context.Context, receive channels.Receive, group string) error {
	parts, err := f.memory.Parts(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	whole := parts[0]
	whole.Part = &channels.Part{Group: group, Last: true}
	for _, p := range parts {
		whole.Text += string(p.Raw)
	}
	return receive(ctx, whole)
}

func (o *own) position() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

func (o *own) advance() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at++
}

func (o *own) set(trouble error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trouble = trouble
}

func (f fake) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	return f.planned(m), nil
}

func (f fake) planned(m channels.Message) []channels.Outgoing {
	var plan []channels.Outgoing
	texts := parts(m.Text)
	if m.Screen != nil {
		texts = withRows(texts, m)
	}
	for _, text := range texts {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: text, Buttons: m.Buttons})
	}
	for album := range slices.Chunk(m.Media, maxFiles) {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Media: album})
	}
	return plan
}

// withRows adds the rows of a screen to the parts of its text. Of the text of progress it leaves
// nothing, so that it is one call.
func withRows(texts []string, m channels.Message) []string {
	if m.Kind == channels.Progress {
		texts = nil
	}
	view := m.Screen.View(channels.ViewOptions{Limit: maxRunes - channels.MaxViewNotes, Measure: channels.Runes})
	return append(texts, strings.Trim(view.NoteAbove()+"\n"+view.Text+"\n"+view.NoteBelow(), "\n"))
}

// parts cuts between what a reader sees as characters.
func parts(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var out []string
	state, start, end, runes := -1, 0, 0, 0
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n := utf8.RuneCountInString(cluster)
		if runes += n; runes > maxRunes {
			out, start, runes = append(out, text[start:end]), end, n
		}
		end += len(cluster)
	}
	return append(out, text[start:])
}

func (f fake) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	s := SentCall{Text: o.Text}
	for _, m := range o.Media {
		content := m.Content
		if m.Path != "" {
			b, err := os.ReadFile(m.Path)
			if err != nil {
				return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
			}
			content = string(b)
		}
		s.Files = append(s.Files, SentFile{Name: m.Name, Content: content})
	}
	id, err := f.net.post(s, o.Key)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.buttons = o.Buttons
	return channels.Receipt{ID: id}, nil
}
