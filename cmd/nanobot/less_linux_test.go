package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
)

// awaitScreen waits for the end of a turn that shows the words, and returns its message.
func (c watchedChat) awaitScreen(words string) watchedMessage {
	c.t.Helper()
	var found watchedMessage
	shown, ok := c.await(func(all []watchedMessage) bool {
		at := slices.IndexFunc(all, func(m watchedMessage) bool {
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
func (c watchedChat) pageDown() watchedMessage {
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
func (c watchedChat) only() watchedMessage {
	c.t.Helper()
	shown, ok := c.await(func(all []watchedMessage) bool { return len(all) == 1 })
	if !ok {
		c.t.Fatalf("%d messages are shown: %+v", len(shown), shown)
	}
	return shown[0]
}

const (
	bashCommand    = "exec bash --norc --noprofile"
	screenTerminal = `, "env": {"HOME": "/", "LESS": "", "ENV": "", "PAGER": ""}`
)

func TestLessAndSixTimesDownAreOneMessage(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	path := examplePath("screen")
	want := musttest.Get(os.ReadFile(path))(t)
	page := new(strings.Builder)
	page.WriteString("# A terminal program in a chat is one message\n\nA person starts `less` with the protocol `screen` and presses ↓ six times. This is what stays in the chat, and how it came\nabout. `TestLessAndSixTimesDownAreOneMessage` writes this page.\n")
	for _, network := range []struct {
		name string
		open func(*testing.T) watchedChat
	}{{"Telegram", lessOnTelegram}, {"Discord", lessOnDiscord}, {"The web page", lessOnThePage}} {
		t.Run(network.name, func(t *testing.T) {
			// What is not edited within 1.75 s after the end of its turn is sent again.
			pausetest.Try(t, time.Second/2, func() error {
				section, err := lessSection(network.name, network.open(t))
				if err != nil {
					return err
				}
				if !*update && !strings.Contains(string(want), section) {
					return fmt.Errorf("the section of %s (write it with -update) would be:%s", path, section)
				}
				page.WriteString(section)
				return nil
			})
		})
	}
	wanttest.File(t, path, page.String(), *update)
}

// lessSection returns the section of the page about a chat in which a person uses less.
func lessSection(name string, c watchedChat) (string, error) {
	c.t.Helper()
	m := c.pageDown()
	if id := c.only().id; id != m.id {
		return "", fmt.Errorf("the message is %v, want %v", id, m.id)
	}
	messages, rings := c.sent()
	rows := strings.Split(strings.Trim(m.text, "`\n"), "\n")
	return fmt.Sprintf("\n## %s\n\nMessages sent: %d, of which %d notify. Messages with live buttons: 1.\n\n````text\n%s\n… %d rows\n%s\n[%s]\n````\n",
		name, messages, rings, rows[0], len(rows)-3, strings.Join(rows[len(rows)-2:], "\n"), strings.Join(m.buttons, "] [")), nil
}

func TestTheScreenOfATurnThatWasCutOffGoesWithItsStopButton(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "screen", command: bashCommand, terminal: screenTerminal})
	c := b.watch(7)
	hasStop := func(m watchedMessage) bool { return slices.Contains(m.buttons, "Stop") }
	c.write("PS1='$ '; clear; echo ready")
	c.awaitScreen("ready") // so that the next turn edits a screen that the daemon knows
	c.write("while true; do date +%s%N; sleep 0.2; done")
	if all, ok := c.await(func(all []watchedMessage) bool { return slices.ContainsFunc(all, hasStop) }); !ok {
		t.Fatalf("no Stop button is shown: %+v", all)
	}
	b.restart(syscall.SIGKILL, func() {})
	all, ok := c.await(func(all []watchedMessage) bool { return len(all) == 1 && strings.Contains(all[0].text, "restarted") })
	if !ok {
		t.Fatalf("after the restart %+v is shown", all)
	}
}

func lessOnTelegram(t *testing.T) watchedChat {
	return startTelegramBot(t, telegramSetup{protocol: "screen", command: bashCommand, terminal: screenTerminal}).watch(7)
}

func lessOnDiscord(t *testing.T) watchedChat {
	return startDiscordBot(t, discordSetup{protocol: "screen", command: bashCommand, terminal: screenTerminal}).watch()
}

func lessOnThePage(t *testing.T) watchedChat {
	return newWebBotWith(t, `"protocol": "screen", "command": "`+bashCommand+`"`+screenTerminal).watch()
}

func TestAScreenIsTheSameMessageAfterARestartAndMovesBelowOthers(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "screen", command: bashCommand, terminal: screenTerminal})
	c := b.watch(7)
	c.write("echo fir''st")
	first := c.awaitScreen("first")
	b.restart(syscall.SIGTERM, func() {})
	c = b.watch(7)
	c.write("echo sec''ond")
	wanttest.Equal(t, "after a restart the message is", c.awaitScreen("second").id, first.id)
	c.write("/status")
	b.awaitMessage(7, "Last turns")
	c.write("echo thi''rd")
	third := c.awaitScreen("third")
	shown, _ := c.await(func(all []watchedMessage) bool { return len(all) == 2 })
	if len(shown) != 2 || third.id == first.id || shown[1].id != third.id {
		t.Errorf("below the status, the screen is %+v", shown)
	}
	if _, rings := c.sent(); rings > 0 {
		t.Errorf("%d messages notify", rings)
	}
}
