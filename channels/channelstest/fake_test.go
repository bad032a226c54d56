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
	"nanobot/internal/words"
)

const (
	maxRunes = 100
	maxFiles = 10
)

// network is a small and strict chat network in memory.
type network struct {
	mu           sync.Mutex
	sent         []SentCall
	visible      []visibleMessage
	keys         map[string]string // receipts by Key
	userMessages []userMessage
	typingCount  int
	draft        string
	reactions    []string
	// buttons are those of the newest message.
	buttons   []channels.Button
	menu      []string
	chatMenu  []string // the menu of the chat
	down      bool
	operators map[*operatorConn]bool
	memory    *Memory
	wake      chan struct{}
	remoteState
}

// visibleMessage is a message of the bot that the chat shows.
type visibleMessage struct{ id, text string }

// userMessage is a message, a part of one, or a press of a button in the chat.
type userMessage struct {
	text    string
	toBot   bool   // false if it is not for the bot
	group   string // of a part: the message it belongs to
	last    bool   // of a part: it is the last one
	pressed string // the data of the pressed button
	file    string // the name of the file of the message
	content string // of the file
	replyTo string // ID of the message that it replies to
}

func (n *network) sendCall(s SentCall, key string) (string, error) {
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
	n.visible = append(n.visible, visibleMessage{id, s.Text})
	if key != "" {
		n.keys[key] = id
	}
	return id, nil
}

func (n *network) sentCalls() []SentCall {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

func (n *network) userSends(text string) { n.addUserMessage(userMessage{text: text, toBot: true}) }

// userSendsInParts sends a message in two parts.
func (n *network) userSendsInParts(text string) {
	half := len(text) / 2
	n.addUserMessage(userMessage{text: text[:half], group: text})
	n.addUserMessage(userMessage{text: text[half:], group: text, last: true})
}

// pressButton presses a button. Unless the button stays, all buttons of the message are removed.
func (n *network) pressButton(label string) error {
	n.mu.Lock()
	at := slices.IndexFunc(n.buttons, func(b channels.Button) bool { return b.Label == label })
	if at < 0 {
		n.mu.Unlock()
		return errors.New("there is no such button")
	}
	b := n.buttons[at]
	if !b.Stays && !n.stranger {
		n.buttons = nil
	}
	n.mu.Unlock()
	n.addUserMessage(userMessage{toBot: true, pressed: b.Data})
	return nil
}

func (n *network) addUserMessage(s userMessage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.userMessages = append(n.userMessages, s)
	n.wakeRun()
}

func (n *network) wakeRun() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// userMessageAt returns the message with this index. It reports false if there is none yet.
func (n *network) userMessageAt(at int) (s userMessage, ok bool, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return userMessage{}, false, errDown
	}
	if at >= len(n.userMessages) {
		return userMessage{}, false, nil
	}
	return n.userMessages[at], true, nil
}

var (
	errDown       = errors.New("the network is down")
	errWrongToken = errors.New("the token of channels.fake.token is wrong")
)

var testChat = channels.Chat{Channel: "fake", ID: "1"}

// fakeChannel is a channel that keeps the contract.
type fakeChannel struct {
	net *network
	*channelState
}

// channelState is the state of one channel on a network.
type channelState struct {
	mu          sync.Mutex
	received    int // number of messages received
	storeCursor func(ctx context.Context, cursor string) error
	menu        []channels.Command
	words       *words.Catalogue
	healthErr   error
	memory      channels.Memory
	token       string // "" is the correct token
	stranger    bool   // the user is not admitted
}

var _ channels.Channel = fakeChannel{}

func newFake(t *testing.T) Subject {
	net := &network{wake: make(chan struct{}, 1), keys: map[string]string{}, operators: map[*operatorConn]bool{}, memory: NewMemory(), remoteState: remoteState{dir: t.TempDir()}}
	return Subject{
		Channel: fakeChannel{net, &channelState{memory: net.memory}}, Chat: testChat, Sent: net.sentCalls, UserSends: net.userSends, PressButton: net.pressButton, Redelivers: true,
		Remote: net.remote(), Optional: net.optional(),
	}
}

func (f fakeChannel) Run(ctx context.Context, receive channels.Receive) error {
	if f.token != "" {
		return errWrongToken
	}
	f.showMenu()
	for f.completeEarlierParts(ctx, receive) != nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	for ctx.Err() == nil {
		s, ok, err := f.net.userMessageAt(f.position())
		f.setHealth(err)
		switch {
		case !ok:
			select {
			case <-f.net.wake:
			case <-ctx.Done():
			}
		case f.handleMessage(ctx, receive, s) == nil:
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

// handleMessage receives a message that is for the bot. For any other it only stores the cursor.
func (f fakeChannel) handleMessage(ctx context.Context, receive channels.Receive, s userMessage) error {
	n := fmt.Sprint(f.position() + 1)
	if s.group != "" {
		in := channels.Incoming{Chat: testChat, ID: n, User: channels.User{ID: "7"}, Part: &channels.Part{Group: s.group}, Raw: []byte(s.text), Cursor: n}
		if err := receive(ctx, in); err != nil || !s.last {
			return err
		}
		return f.receiveWhole(ctx, receive, s.group)
	}
	if s.toBot {
		user := channels.User{ID: "7", Name: channels.StripBidi(f.net.userName)}
		in := channels.Incoming{Chat: testChat, ID: n, User: user, Text: s.text, Press: s.pressed, Cursor: n}
		f.addFiles(&in, s)
		return receive(ctx, in)
	}
	if f.storeCursor != nil {
		_ = f.storeCursor(ctx, n) // on failure the previous cursor stays valid
	}
	return nil
}

// completeEarlierParts receives the messages whose parts an earlier run has stored.
func (f fakeChannel) completeEarlierParts(ctx context.Context, receive channels.Receive) error {
	parts, err := f.memory.Parts(ctx)
	if err != nil || len(parts) < 2 {
		return err
	}
	return f.receiveWhole(ctx, receive, parts[0].Part.Group)
}

// receiveWhole receives a message whose parts are stored. There are none if the message was
// received before.
func (f fakeChannel) receiveWhole(ctx context.Context, receive channels.Receive, group string) error {
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

func (s *channelState) position() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received
}

func (s *channelState) advance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received++
}

func (s *channelState) setHealth(trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.healthErr = trouble
}

func (f fakeChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	return f.planCalls(m), nil
}

func (f fakeChannel) planCalls(m channels.Message) []channels.Outgoing {
	var plan []channels.Outgoing
	texts := splitText(m.Text)
	if m.Screen != nil {
		texts = appendScreen(texts, m)
	}
	for _, text := range texts {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: text, Buttons: m.Buttons})
	}
	for album := range slices.Chunk(m.Media, maxFiles) {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Media: album})
	}
	return plan
}

// appendScreen appends a screen to the parts of its text. It drops the text of progress, so that
// progress is one call.
func appendScreen(texts []string, m channels.Message) []string {
	if m.Kind == channels.Progress {
		texts = nil
	}
	view := m.Screen.View(channels.ViewOptions{Limit: maxRunes - channels.MaxViewNotes(words.Words{}), Measure: channels.Runes})
	return append(texts, strings.Trim(view.NoteAbove()+"\n"+view.Text+"\n"+view.NoteBelow(), "\n"))
}

// splitText splits a text between grapheme clusters.
func splitText(text string) []string {
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

func (f fakeChannel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	s := SentCall{Text: o.Text}
	for _, m := range o.Media {
		content := m.Content
		if m.Path != "" {
			b, err := os.ReadFile(m.Path)
			if err != nil {
				s.Text += "\n" + m.Name + " was not sent"
				continue
			}
			content = string(b)
		}
		s.Files = append(s.Files, SentFile{Name: m.Name, Content: content})
	}
	if f.net.failsSend() {
		return channels.Receipt{}, &channels.SendError{Err: errDown, Unknown: true}
	}
	id, err := f.net.sendCall(s, o.Key)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	f.net.mu.Lock()
	defer f.net.mu.Unlock()
	f.net.buttons, f.net.draft = o.Buttons, ""
	return channels.Receipt{ID: id}, nil
}
