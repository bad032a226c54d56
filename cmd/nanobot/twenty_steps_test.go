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

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// twentySteps is a prompt of a turn with twenty tool calls, four changed files and some remarks.
// The agent waits for the file in the middle of the thirteenth.
func twentySteps(signal string) string {
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
			fmt.Fprintf(&b, "until %s\n", signal)
		}
		content := `[]`
		if kind == "edit" {
			content = fmt.Sprintf(`[{"type":"diff","path":"/src/part%d.go","oldText":"old\n","newText":"new %d\n"}]`, i, i)
		}
		fmt.Fprintf(&b, "status t%d completed %s\n", i, content)
	}
	b.WriteString(`raw {"sessionUpdate":"usage_update","used":21000,"size":200000,"cost":{"amount":0.12,"currency":"USD"}}` + "\n")
	b.WriteString("say All parts are **reviewed**, and the tests pass.")
	return b.String()
}

// durations are the times in a transcript, which differ from run to run.
var durations = regexp.MustCompile(`\b\d+ (s|min)\b`)

// showTwentySteps writes what one network shows of the turn.
type showTwentySteps func(t *testing.T, signal string) string

func TestTwentyStepsLeaveABoardAndTheAnswer(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	var page strings.Builder
	page.WriteString("# The same turn on Telegram, Discord and the web page\n\nAn ACP agent makes twenty tool calls, changes four files, comments on what it does and answers. This is what people\nsee while it works, and what stays in the chat. `TestTwentyStepsLeaveABoardAndTheAnswer` writes this page.\n")
	for _, network := range []struct {
		name string
		show showTwentySteps
	}{{"Telegram", twentyStepsOnTelegram}, {"Discord", twentyStepsOnDiscord}, {"The web page", twentyStepsOnThePage}} {
		t.Run(network.name, func(t *testing.T) {
			fmt.Fprintf(&page, "\n## %s\n\n%s\n", network.name, strings.TrimSpace(network.show(t, filepath.Join(t.TempDir(), "go"))))
		})
	}
	path := filepath.Join("..", "..", "docs", "example-turn.md")
	got := durations.ReplaceAllString(page.String(), "9 s")
	if *update {
		musttest.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != got {
		t.Errorf("docs/example-turn.md is not what is shown now (write it with -update): %v\n%s", err, got)
	}
}

// transcriptMessage is a message in a transcript.
func transcriptMessage(silent bool, text string) string {
	notifies := "notifies"
	if silent {
		notifies = "silent"
	}
	return fmt.Sprintf("Message, %s:\n\n````text\n%s\n````\n\n", notifies, strings.TrimSpace(text))
}

func twentyStepsOnTelegram(t *testing.T, signal string) string {
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	b.api.SetFloodControl(telegramtest.TelegramFloodLimits)
	b.api.UserSends(7, twentySteps(signal))
	board := b.awaitMessage(7, "step 13")
	out := "While the agent works:\n\n" + transcriptMessage(board.Silent, board.TextOrCaption())
	musttest.Do(t, os.WriteFile(signal, nil, 0o600))
	b.awaitMessage(7, "All parts are reviewed")
	shown, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return slices.ContainsFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), "20 steps") })
	})
	if !ok || len(shown) != 2 {
		t.Errorf("%d messages are shown: %+v", len(shown), shown)
	}
	out += "In the end:\n\n"
	for _, m := range shown {
		out += transcriptMessage(m.Silent, quoteExpandable(m))
	}
	return out
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

func twentyStepsOnDiscord(t *testing.T, signal string) string {
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
	b.api.UserSends(b.dm, ada, twentySteps(signal))
	board := awaitContent("step 13")[0]
	out := "While the agent works:\n\n" + transcriptMessage(isSilent(board), board.Content)
	musttest.Do(t, os.WriteFile(signal, nil, 0o600))
	awaitContent("All parts are")
	shown := awaitContent("20 steps")
	if len(shown) != 2 {
		t.Errorf("%d messages are shown: %+v", len(shown), shown)
	}
	out += "In the end:\n\n"
	for _, m := range shown {
		text := m.Content
		for _, button := range m.Buttons() {
			text += "\n[" + button.Label + "]"
		}
		out += transcriptMessage(isSilent(m), text)
	}
	return out
}

func twentyStepsOnThePage(t *testing.T, signal string) string {
	b := newWebBotWith(t, `"protocol": "acp", "command": `+strconv.Quote(acpAgent(t, "")))
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	const chat = "web-a-known-to-nobody-else"
	ann.sendMessage(chat, twentySteps(signal))
	board := next("progress")
	for !strings.Contains(board.data.Text, "step 13") {
		board = next("progress")
	}
	out := "While the agent works:\n\n" + transcriptMessage(true, board.data.Text)
	musttest.Do(t, os.WriteFile(signal, nil, 0o600))
	for e := next("message"); !strings.Contains(e.data.Text, "20 steps"); e = next("message") {
	}
	var history struct {
		Messages []struct{ From, Text, Details string }
	}
	status, body := ann.request("GET", "/api/chats/"+chat+"/messages", "", nil)
	musttest.Do(t, json.Unmarshal([]byte(body), &history))
	if shown := len(history.Messages); status != http.StatusOK || shown != 3 {
		t.Errorf("%d messages are shown: %s", shown, body)
	}
	out += "In the end, where Details opens with a click:\n\n"
	for _, m := range history.Messages {
		if m.From == "bot" {
			out += transcriptMessage(m.Details != "", m.Text+"\n"+unfoldDetails(m.Details))
		}
	}
	return out
}

// unfoldDetails returns folded text with > before its lines.
func unfoldDetails(details string) string {
	if details == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(strings.TrimSpace(details), "\n", "\n> ")
}
