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
	sent   []Sent
	unread []channels.Incoming
	said   int
	wake   chan struct{}
}

func (n *network) post(s Sent) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case strings.TrimSpace(s.Text) == "" && len(s.Files) == 0:
		return "", errors.New("message is empty")
	case utf8.RuneCountInString(s.Text) > maxRunes:
		return "", errors.New("message is too long")
	case len(s.Files) > maxFiles:
		return "", errors.New("too many files")
	}
	n.sent = append(n.sent, s)
	return fmt.Sprint(len(n.sent)), nil
}

func (n *network) seen() []Sent {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sent)
}

func (n *network) say(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said++
	n.unread = append(n.unread, channels.Incoming{
		Chat: testChat, ID: fmt.Sprint(n.said), User: channels.User{ID: "7"}, Text: text,
	})
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next is the oldest message that was not acknowledged.
func (n *network) next() (channels.Incoming, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.unread) == 0 {
		return channels.Incoming{}, false
	}
	return n.unread[0], true
}

func (n *network) acknowledge() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread = n.unread[1:]
}

var testChat = channels.Chat{Channel: "fake", ID: "1"}

// fake is a channel as it should be.
type fake struct{ net *network }

var _ channels.Channel = fake{}

func newFake(*testing.T) Subject {
	net := &network{wake: make(chan struct{}, 1)}
	return Subject{Channel: fake{net}, Chat: testChat, Sent: net.seen, Say: net.say, Redelivers: true}
}

func (f fake) Run(ctx context.Context, receive channels.Receive) error {
	for ctx.Err() == nil {
		m, ok := f.net.next()
		if !ok {
			select {
			case <-f.net.wake:
			case <-ctx.Done():
			}
			continue
		}
		if receive(ctx, m) == nil {
			f.net.acknowledge()
			continue
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

func (f fake) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.Presentable(m)
	return f.planned(m), nil
}

func (f fake) planned(m channels.Message) []channels.Outgoing {
	var plan []channels.Outgoing
	for _, text := range parts(m.Text) {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Text: text})
	}
	for album := range slices.Chunk(m.Media, maxFiles) {
		plan = append(plan, channels.Outgoing{Chat: m.Chat, Kind: m.Kind, Media: album})
	}
	return plan
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
	s := Sent{Text: o.Text}
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
	id, err := f.net.post(s)
	if err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	return channels.Receipt{ID: id}, nil
}
