package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// shownScreen is a message of the bot.
type shownScreen struct {
	id, text string
	buttons  []string // labels
	press    func(label string)
}

// screenChat is a chat whose agent has the protocol screen.
type screenChat struct {
	t     *testing.T
	write func(text string)
	// await waits until the messages of the bot are as wanted.
	await func(enough func([]shownScreen) bool) ([]shownScreen, bool)
	// sent returns how many messages were sent, and how many of them notified people.
	sent func() (messages, rings int)
}

// awaitScreen waits for the end of a turn that shows the words, and returns its message.
func (c screenChat) awaitScreen(words string) shownScreen {
	c.t.Helper()
	var found shownScreen
	shown, ok := c.await(func(all []shownScreen) bool {
		at := slices.IndexFunc(all, func(m shownScreen) bool {
			return strings.Contains(m.text, words) && len(m.buttons) > 0 && !slices.Contains(m.buttons, "Stop")
		})
		if at >= 0 {
			found = all[at]
		}
		return at >= 0
	})
	if !ok {
		c.t.Fatalf("%q is not shown: %+v", words, shown)
	}
	return found
}

// pageDown starts less and presses ↓ six times. It returns the only message.
func (c screenChat) pageDown() shownScreen {
	c.t.Helper()
	c.write("PS1='$ '; clear; seq 1 99 | less")
	m := c.awaitScreen("\n23\n")
	for i := range 6 {
		m.press("↓")
		m = c.awaitScreen(fmt.Sprintf("\n%d\n", 24+i))
	}
	return m
}

// only fails if the bot shows more messages than one.
func (c screenChat) only() shownScreen {
	c.t.Helper()
	shown, ok := c.await(func(all []shownScreen) bool { return len(all) == 1 })
	if !ok {
		c.t.Fatalf("%d messages are shown: %+v", len(shown), shown)
	}
	return shown[0]
}

const screenTerminal = `, "env": {"HOME": "/", "LESS": "", "ENV": "", "PAGER": ""}`

func TestLessAndSixTimesDownAreOneMessage(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	page := new(strings.Builder)
	page.WriteString("# A terminal program in a chat is one message\n\nA person starts `less` with the protocol `screen` and presses ↓ six times. This is what stays in the chat, and how it came\nabout. `TestLessAndSixTimesDownAreOneMessage` writes this page.\n")
	for _, network := range []struct {
		name string
		open func(*testing.T) screenChat
	}{{"Telegram", lessOnTelegram}, {"Discord", lessOnDiscord}, {"The web page", lessOnThePage}} {
		t.Run(network.name, func(t *testing.T) {
			c := network.open(t)
			m := c.pageDown()
			wanttest.Equal(t, "the message is", c.only().id, m.id)
			messages, rings := c.sent()
			rows := strings.Split(strings.Trim(m.text, "`\n"), "\n")
			fmt.Fprintf(page, "\n## %s\n\nMessages sent: %d, of which %d notify. Messages with live buttons: 1.\n\n````text\n%s\n… %d rows\n%s\n[%s]\n````\n",
				network.name, messages, rings, rows[0], len(rows)-3, strings.Join(rows[len(rows)-2:], "\n"), strings.Join(m.buttons, "] ["))
		})
	}
	path := filepath.Join("..", "..", "docs", "example-screen.md")
	if *update {
		musttest.Do(t, os.WriteFile(path, []byte(page.String()), 0o644))
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != page.String() {
		t.Errorf("docs/example-screen.md is not what is shown now (write it with -update): %v\n%s", err, page)
	}
}

func TestTheScreenOfATurnThatWasCutOffGoesWithItsStopButton(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "screen", command: "exec bash --norc --noprofile", terminal: screenTerminal})
	c := b.screenChat()
	hasStop := func(m shownScreen) bool { return slices.Contains(m.buttons, "Stop") }
	c.write("PS1='$ '; clear; echo ready")
	c.awaitScreen("ready") // so that the next turn edits a screen that the daemon knows
	c.write("while true; do date +%s%N; sleep 0.2; done")
	if all, ok := c.await(func(all []shownScreen) bool { return slices.ContainsFunc(all, hasStop) }); !ok {
		t.Fatalf("no Stop button is shown: %+v", all)
	}
	b.restart(syscall.SIGKILL, func() {})
	all, ok := c.await(func(all []shownScreen) bool { return len(all) == 1 && strings.Contains(all[0].text, "restarted") })
	if !ok {
		t.Fatalf("after the restart %+v is shown", all)
	}
}

func lessOnTelegram(t *testing.T) screenChat {
	b := startTelegramBot(t, telegramSetup{protocol: "screen", command: "exec bash --norc --noprofile", terminal: screenTerminal})
	return b.screenChat()
}

func (b *telegramBot) screenChat() screenChat {
	return screenChat{
		t: b.t, write: func(text string) { b.api.UserSends(7, text) },
		await: func(enough func([]shownScreen) bool) (now []shownScreen, ok bool) {
			_, ok = b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
				now = nil
				for _, m := range all {
					now = append(now, shownScreen{
						strconv.Itoa(m.ID), m.TextOrCaption(), buttonLabels(m),
						func(label string) { b.pressButton(m, label) },
					})
				}
				return enough(now)
			})
			return now, ok
		},
		sent: func() (messages, rings int) {
			all := b.api.Calls("sendMessage")
			for _, c := range all {
				if c.Params["disable_notification"] != "true" {
					rings++
				}
			}
			return len(all), rings
		},
	}
}

func lessOnDiscord(t *testing.T) screenChat {
	b := startDiscordBot(t, discordSetup{protocol: "screen", command: "exec bash --norc --noprofile", terminal: screenTerminal})
	return screenChat{
		t: t, write: func(text string) { b.api.UserSends(b.dm, ada, text) },
		await: func(enough func([]shownScreen) bool) (now []shownScreen, ok bool) {
			_, ok = b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
				now = nil
				for _, m := range all {
					s := shownScreen{id: m.ID, text: m.Content}
					for _, button := range m.Buttons() {
						s.buttons = append(s.buttons, button.Label)
					}
					s.press = func(label string) {
						at := slices.Index(s.buttons, label)
						musttest.Get(b.api.UserPresses(ada, m.ID, m.Buttons()[at].CustomID))(t)
					}
					now = append(now, s)
				}
				return enough(now)
			})
			return now, ok
		},
		sent: func() (messages, rings int) {
			all := b.api.Calls(discordtest.CreateMessage)
			for _, c := range all {
				var body struct{ Flags int }
				musttest.Do(t, json.Unmarshal(c.Body, &body))
				if body.Flags&(1<<12) == 0 {
					rings++
				}
			}
			return len(all), rings
		},
	}
}

func lessOnThePage(t *testing.T) screenChat {
	b := newWebBotWith(t, `"protocol": "screen", "command": "exec bash --norc --noprofile"`+screenTerminal)
	p := &watchedPage{b: b.signIn("--user", "ann"), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { p.b.followEvents(ctx, p.apply) })
	t.Cleanup(func() { cancel(); watch.Wait() })
	return screenChat{
		t: t, write: func(text string) { p.b.sendMessage(pageChat, text) }, await: p.await,
		sent: func() (messages, rings int) { return p.messages, 0 }, // nothing on the page notifies
	}
}

const pageChat = "web-a-known-to-nobody-else"

// watchedPage is what the page shows of the bot.
type watchedPage struct {
	b       *browser
	changed chan struct{}
	mu      sync.Mutex
	shown   []shownScreen
	// messages counts those that the history got. Each takes the place of the one before.
	messages int
}

func (p *watchedPage) apply(e webEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.shown, func(m shownScreen) bool { return m.id == e.data.ID })
	switch {
	case e.name == "gone" || e.name == "removed":
		if at >= 0 {
			p.shown = slices.Delete(p.shown, at, at+1)
		}
	case e.name == "progress" || e.name == "message" && e.data.From == "bot":
		m := shownScreen{id: e.data.ID, text: "\n" + e.data.Text}
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

func (p *watchedPage) await(enough func([]shownScreen) bool) ([]shownScreen, bool) {
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

func TestAScreenIsTheSameMessageAfterARestartAndMovesBelowOthers(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "screen", command: "exec bash --norc --noprofile", terminal: screenTerminal})
	c := b.screenChat()
	c.write("echo fir''st")
	first := c.awaitScreen("first")
	b.restart(syscall.SIGTERM, func() {})
	c = b.screenChat()
	c.write("echo sec''ond")
	wanttest.Equal(t, "after a restart the message is", c.awaitScreen("second").id, first.id)
	c.write("/status")
	b.awaitMessage(7, "Last turns")
	c.write("echo thi''rd")
	third := c.awaitScreen("third")
	shown, _ := c.await(func(all []shownScreen) bool { return len(all) == 2 })
	if len(shown) != 2 || third.id == first.id || shown[1].id != third.id {
		t.Errorf("below the status, the screen is %+v", shown)
	}
	if _, rings := c.sent(); rings > 0 {
		t.Errorf("%d messages notify", rings)
	}
}
