package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
)

// scene is a turn with twenty tool calls, four changed files and some remarks.
type scene struct {
	signal string // the file that the agent waits for in the middle of the thirteenth call
	lines  int    // of the diff of each file
}

// prompt returns the prompt of the scene.
func (s scene) prompt() string {
	var b strings.Builder
	for i := 1; i <= 20; i++ {
		kind, title := "read", fmt.Sprintf("src/part%d.go", i)
		switch {
		case i%5 == 0:
			kind, title = "execute", "go test ./part"+fmt.Sprint(i)
		case i%4 == 0:
			kind = "edit"
		}
		if i%3 == 0 {
			fmt.Fprintf(&b, "say Now I look at part %d.\n", i)
		}
		fmt.Fprintf(&b, "tool t%d %s %s\nstatus t%d in_progress\n", i, kind, title, i)
		if i == 13 {
			fmt.Fprintf(&b, "until %s\n", s.signal)
		}
		if kind == "edit" {
			fmt.Fprintf(&b, "edited t%d %s %d\n", i, title, s.lines)
		} else {
			fmt.Fprintf(&b, "status t%d completed []\n", i)
		}
	}
	b.WriteString(`raw {"sessionUpdate":"usage_update","used":21000,"size":200000,"cost":{"amount":0.12,"currency":"USD"}}` + "\n")
	b.WriteString("say All parts are **reviewed**, and the tests pass.")
	return b.String()
}

// durations are the times in a transcript, which differ from run to run.
var durations = regexp.MustCompile(`\b\d+ (s|min)\b`)

// showTwentySteps returns what one network shows of a scene, while the agent works and in the end.
type showTwentySteps func(t *testing.T, s scene) (working, ended []sceneMessage)

// sceneMessage is a message as people see it.
type sceneMessage struct {
	silent bool
	text   string
	files  []string
}

// String returns the message for a transcript.
func (m sceneMessage) String() string {
	notifies := "notifies"
	if m.silent {
		notifies = "silent"
	}
	for _, f := range m.files {
		m.text = "📎 " + f + "\n" + m.text
	}
	return fmt.Sprintf("Message, %s:\n\n````text\n%s\n````\n\n", notifies, strings.TrimSpace(m.text))
}

// checkTwoMessages checks that a turn leaves one silent message and one that notifies. Other
// messages are an error, which a pause of the machine may have caused.
func checkTwoMessages(t *testing.T, shown []sceneMessage, lines int) error {
	t.Helper()
	if len(shown) != 2 || !shown[0].silent || shown[1].silent {
		return fmt.Errorf("shown are %v", shown)
	}
	board, answer := shown[0], shown[1]
	wanttest.Equal(t, "files of the board and of the answer:", fmt.Sprint(board.files, answer.files),
		map[bool]string{true: "[] [changes.diff]", false: "[] []"}[lines > 1])
	if !strings.Contains(answer.text, "reviewed") {
		t.Errorf("the answer is %q", answer.text)
	}
	return nil
}

func TestTwentyStepsLeaveABoardAndTheAnswer(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	var page strings.Builder
	page.WriteString("# The same turn on Telegram, Discord and the web page\n\nAn ACP agent makes twenty tool calls, changes four files, comments on what it does and answers. This is what people\nsee while it works, and what stays in the chat: one silent message and the answer. A diff of up to 4 KiB is part of the\nsilent message, a larger one is a document of the answer. `TestTwentyStepsLeaveABoardAndTheAnswer` writes this page.\n\nOther pages show [a long answer while it is written](example-stream.md), [a busy group](example-group.md), [a question\nthat two people answer](example-approvals.md) and [a terminal](example-screen.md).\n")
	for _, network := range []struct {
		name, details string
		show          showTwentySteps
	}{
		{"Telegram", "", twentyStepsOnTelegram},
		{"Discord", "", twentyStepsOnDiscord},
		{"The web page", ", where Details opens with a click", twentyStepsOnThePage},
	} {
		t.Run(network.name, func(t *testing.T) {
			var working, ended []sceneMessage
			// A board that is not folded within 1.75 s after the end of its turn is sent again.
			pausetest.Try(t, time.Second/2, func() error {
				working, ended = network.show(t, scene{filepath.Join(t.TempDir(), "go"), 1})
				return checkTwoMessages(t, ended, 1)
			})
			fmt.Fprintf(&page, "\n## %s\n\nWhile the agent works:\n\n%sIn the end%s:\n\n%s%s", network.name, working[0], network.details, ended[0], ended[1])
		})
		t.Run(network.name+" with a large diff", func(t *testing.T) {
			var ended []sceneMessage
			pausetest.Try(t, time.Second/2, func() error {
				_, ended = network.show(t, scene{filepath.Join(t.TempDir(), "go"), 60})
				return checkTwoMessages(t, ended, 60)
			})
			fmt.Fprintf(&page, "With a diff of more than 4 KiB:\n\n%s%s", ended[0], ended[1])
		})
	}
	got := durations.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(page.String(), "\n\n\n", "\n\n"))+"\n", "9 s")
	wanttest.File(t, examplePath("turn"), got, *update)
}

func twentyStepsOnTelegram(t *testing.T, s scene) (working, ended []sceneMessage) {
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	b.api.SetFloodControl(telegramtest.TelegramFloodLimits)
	b.api.UserSends(7, s.prompt())
	board := b.awaitMessage(7, "step 13")
	musttest.Do(t, os.WriteFile(s.signal, nil, 0o600))
	b.awaitMessage(7, "All parts are reviewed")
	shown, _ := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return slices.ContainsFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), "20 steps") })
	})
	for _, m := range shown {
		one := sceneMessage{silent: m.Silent, text: quoteExpandable(m)}
		if m.Document != nil {
			one.files = append(one.files, m.Document.FileName)
		}
		ended = append(ended, one)
	}
	return []sceneMessage{{silent: board.Silent, text: board.TextOrCaption()}}, ended
}

// quoteExpandable returns a message's text with > before the lines of an expandable quote.
func quoteExpandable(m telegramtest.Message) string {
	text := m.TextOrCaption()
	for _, e := range m.Entities {
		if e.Type != "expandable_blockquote" {
			continue
		}
		units := []rune(text) // no character of the transcript needs two units before the quote
		quote := string(units[e.Offset:])
		text = string(units[:e.Offset]) + "> " + strings.ReplaceAll(quote, "\n", "\n> ")
	}
	return text
}

func twentyStepsOnDiscord(t *testing.T, s scene) (working, ended []sceneMessage) {
	b := startDiscordBot(t, discordSetup{protocol: "acp", command: acpAgent(t, "")})
	awaitContent := func(words string) []discordtest.Message {
		t.Helper()
		shown, ok := b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
			return slices.ContainsFunc(all, func(m discordtest.Message) bool { return strings.Contains(m.Content, words) })
		})
		if !ok {
			t.Fatalf("nothing with %q is shown: %+v", words, shown)
		}
		return shown
	}
	isSilent := func(m discordtest.Message) bool { return m.Flags&(1<<12) != 0 }
	b.api.UserSends(b.dm, ada, s.prompt())
	board := awaitContent("step 13")[0]
	musttest.Do(t, os.WriteFile(s.signal, nil, 0o600))
	awaitContent("All parts are")
	for _, m := range awaitContent("20 steps") {
		one := sceneMessage{silent: isSilent(m), text: m.Content}
		for _, button := range m.Buttons() {
			one.text += "\n[" + button.Label + "]"
		}
		for _, f := range m.Attachments {
			one.files = append(one.files, f.Filename)
		}
		ended = append(ended, one)
	}
	return []sceneMessage{{silent: isSilent(board), text: board.Content}}, ended
}

func twentyStepsOnThePage(t *testing.T, s scene) (working, ended []sceneMessage) {
	b := newWebBotWith(t, `"protocol": "acp", "command": `+strconv.Quote(acpAgent(t, "")))
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	const chat = "web-a-known-to-nobody-else"
	ann.sendMessage(chat, s.prompt())
	board := next("progress")
	for !strings.Contains(board.data.Text, "step 13") {
		board = next("progress")
	}
	musttest.Do(t, os.WriteFile(s.signal, nil, 0o600))
	for e := next("message"); !strings.Contains(e.data.Text, "20 steps"); e = next("message") {
	}
	var history struct {
		Messages []struct {
			From, Text, Details string
			Media               []struct{ Name string }
		}
	}
	status, body := ann.request("GET", "/api/chats/"+chat+"/messages", "", nil)
	musttest.Do(t, json.Unmarshal([]byte(body), &history))
	wanttest.Equal(t, "status", status, http.StatusOK)
	for _, m := range history.Messages {
		if m.From != "bot" {
			continue
		}
		one := sceneMessage{silent: m.Details != "", text: m.Text + "\n" + unfoldDetails(m.Details)}
		for _, f := range m.Media {
			one.files = append(one.files, f.Name)
		}
		ended = append(ended, one)
	}
	return []sceneMessage{{silent: true, text: board.data.Text}}, ended
}

// unfoldDetails returns folded text with > before its lines.
func unfoldDetails(details string) string {
	if details == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(strings.TrimSpace(details), "\n", "\n> ")
}
