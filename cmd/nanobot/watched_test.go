package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

// examplePath returns the path of a page of docs that a test writes.
func examplePath(name string) string {
	return filepath.Join("..", "..", "docs", "example-"+name+".md")
}

// watchedMessage is a message of the bot.
type watchedMessage struct {
	id, text string
	silent   bool
	files    []string // names
	buttons  []string // labels
	press    func(label string)
}

// watchedChat is a chat with a bot of which tests see what people see.
type watchedChat struct {
	t     *testing.T
	write func(text string)
	// await waits until the messages of the bot are as wanted.
	await func(enough func([]watchedMessage) bool) ([]watchedMessage, bool)
	// sent returns how many messages were sent, and how many of them notified people.
	sent func() (messages, rings int)
}

// watch returns a chat on Telegram in which user 7 writes.
func (b *telegramBot) watch(chat int64) watchedChat {
	return watchedChat{
		t: b.t, write: func(text string) { b.api.UserPosts(telegramtest.UserPost{Chat: chat, From: 7, Text: text}) },
		await: func(enough func([]watchedMessage) bool) (now []watchedMessage, ok bool) {
			_, ok = b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
				now = nil
				for _, m := range all {
					s := watchedMessage{id: strconv.Itoa(m.ID), text: m.TextOrCaption(), silent: m.Silent, buttons: buttonLabels(m)}
					if m.Document != nil {
						s.files = append(s.files, m.Document.FileName)
					}
					s.press = func(label string) { b.pressButton(m, label) }
					now = append(now, s)
				}
				return enough(now)
			})
			return now, ok
		},
		sent: func() (messages, rings int) {
			for _, c := range b.api.Calls("") {
				if len(c.Messages) == 0 || c.Method != "sendMessage" && c.Method != "sendDocument" {
					continue
				}
				messages++
				if c.Params["disable_notification"] != "true" {
					rings++
				}
			}
			return messages, rings
		},
	}
}

// watch returns Ada's conversation with the bot.
func (b *discordBot) watch() watchedChat {
	return watchedChat{
		t: b.test, write: func(text string) { b.api.UserSends(b.dm, ada, text) },
		await: func(enough func([]watchedMessage) bool) (now []watchedMessage, ok bool) {
			_, ok = b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
				now = nil
				for _, m := range all {
					now = append(now, b.watchedMessage(m))
				}
				return enough(now)
			})
			return now, ok
		},
		sent: func() (messages, rings int) {
			all := b.api.Calls(discordtest.CreateMessage)
			for _, c := range all {
				var body struct{ Flags int }
				musttest.Do(b.test, json.Unmarshal(c.Body, &body))
				if body.Flags&discordtest.FlagSilent == 0 {
					rings++
				}
			}
			return len(all), rings
		},
	}
}

func (b *discordBot) watchedMessage(m discordtest.Message) watchedMessage {
	s := watchedMessage{id: m.ID, text: m.Content, silent: m.Flags&discordtest.FlagSilent != 0}
	for _, f := range m.Attachments {
		s.files = append(s.files, f.Filename)
	}
	for _, button := range m.Buttons() {
		s.buttons = append(s.buttons, button.Label)
	}
	s.press = func(label string) {
		musttest.Get(b.api.UserPresses(ada, m.ID, m.Buttons()[slices.Index(s.buttons, label)].CustomID))(b.test)
	}
	return s
}

const pageChat = "web-a-known-to-nobody-else"

// watch returns a chat of ann's on the page.
func (b *webBot) watch() watchedChat { return b.watchWith("ann", func(webEvent) {}) }

// watchWith is watch for a person, whose page also gives its events to see.
func (b *webBot) watchWith(person string, see func(webEvent)) watchedChat {
	p := &watchedPage{b: b.signIn("--user", person), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(b.t.Context())
	var watch sync.WaitGroup
	open := make(chan struct{})
	ready := sync.OnceFunc(func() { close(open) })
	watch.Go(func() {
		p.b.followEvents(ctx, func(e webEvent) {
			if e.name == "ready" {
				ready()
			}
			see(e)
			p.apply(e)
		})
	})
	b.t.Cleanup(func() { cancel(); watch.Wait() })
	select {
	case <-open: // a message that is answered before is not in the stream
	case <-time.After(waitTimeout):
		b.t.Fatal("the stream of events does not open")
	}
	return watchedChat{
		t: b.t, write: func(text string) { p.b.sendMessage(pageChat, text) }, await: p.await,
		sent: func() (messages, rings int) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.messages, 0 // nothing on the page notifies
		},
	}
}

// watchedPage is what the page shows of the bot.
type watchedPage struct {
	b       *browser
	changed chan struct{}
	mu      sync.Mutex
	shown   []watchedMessage
	// messages counts those that the history got. Each takes the place of the one before.
	messages int
}

func (p *watchedPage) apply(e webEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.shown, func(m watchedMessage) bool { return m.id == e.data.ID })
	switch {
	case e.name == "gone" || e.name == "removed":
		if at >= 0 {
			p.shown = slices.Delete(p.shown, at, at+1)
		}
	case e.name == "progress" || e.name == "message" && e.data.From == "bot":
		m := watchedMessage{id: e.data.ID, text: "\n" + e.data.Text, silent: true}
		for _, f := range e.data.Media {
			m.files = append(m.files, f.Name)
		}
		for _, button := range e.data.Buttons {
			m.buttons = append(m.buttons, button.Label)
		}
		m.press = func(label string) { p.press(e, slices.Index(m.buttons, label)) }
		if e.name == "message" {
			p.messages++
		}
		if at >= 0 {
			p.shown[at] = m
		} else {
			p.shown = append(p.shown, m)
		}
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *watchedPage) press(e webEvent, button int) {
	body, _ := json.Marshal(map[string]string{"message": e.data.ID, "data": e.data.Buttons[button].Data})
	if status, answer := p.b.request("POST", "/api/chats/"+pageChat+"/press", "application/json", bytes.NewReader(body)); status != http.StatusAccepted {
		p.b.b.t.Errorf("the press is answered %d %s", status, answer)
	}
}

func (p *watchedPage) await(enough func([]watchedMessage) bool) ([]watchedMessage, bool) {
	for timeout := time.After(waitTimeout); ; {
		p.mu.Lock()
		now := slices.Clone(p.shown)
		p.mu.Unlock()
		if enough(now) {
			return now, true
		}
		select {
		case <-p.changed:
		case <-timeout:
			return now, false
		}
	}
}
