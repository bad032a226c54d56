package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
)

// writesReport is an agent of protocol rich that writes a report line by line. It waits for a file
// after the sixtieth line.
const writesReport = `
	line() { printf 'Line %03d: this part was checked.\\n' $1; }
	i=0; while [ $i -lt 60 ]; do i=$((i+1)); printf '{"type":"delta","text":"%s"}\n' "$(line $i)"; done
	sleep 5; while [ ! -e go ]; do sleep 0.05; done
	i=0; all=; while [ $i -lt 400 ]; do i=$((i+1)); all="$all$(line $i)"; done
	printf '{"type":"message","text":"%sThe end."}\n' "$all"`

// streamScene is a chat in which the report is written.
type streamScene struct {
	watchedChat
	dir string // of the bot
	// awaitDraft waits for a draft with the words, and returns it. It is nil if the chat has none.
	awaitDraft func(words string) string
}

// abridge returns a message for a transcript: its first and last line, and what is below them.
func (m watchedMessage) abridge() string {
	lines := strings.Split(strings.TrimSpace(m.text), "\n")
	if len(lines) > 3 {
		lines = []string{lines[0], fmt.Sprintf("… %d lines", len(lines)-2), lines[len(lines)-1]}
	}
	text := strings.Join(lines, "\n")
	if len(m.buttons) > 0 {
		text += "\n[" + strings.Join(m.buttons, "] [") + "]"
	}
	return sceneMessage{m.silent, text, m.files}.String()
}

// countStops returns the number of messages with a Stop button.
func countStops(all []watchedMessage) (n int) {
	for _, m := range all {
		if slices.Contains(m.buttons, "Stop") {
			n++
		}
	}
	return n
}

// play shows what people see in the middle and in the end.
func (s streamScene) play() string {
	s.t.Helper()
	shows := func(all []watchedMessage, words string) bool {
		return slices.ContainsFunc(all, func(m watchedMessage) bool { return strings.Contains(m.text, words) })
	}
	transcript := new(strings.Builder)
	snapshot := func(when string, all []watchedMessage) {
		messages, rings := s.sent()
		fmt.Fprintf(transcript, "%s (messages sent: %d, notifying: %d, Stop buttons: %d):\n\n", when, messages, rings, countStops(all))
		for _, m := range all {
			transcript.WriteString(m.abridge())
		}
	}
	s.write("Report, please")
	if s.awaitDraft != nil {
		draft := watchedMessage{text: s.awaitDraft("Line 060")}
		shown, _ := s.await(func([]watchedMessage) bool { return true })
		snapshot("In the middle", shown)
		transcript.WriteString(strings.Replace(draft.abridge(), "Message, notifies", "Draft", 1))
	} else {
		shown, ok := s.await(func(all []watchedMessage) bool { return shows(all, "Line 060") })
		if !ok || countStops(shown) != 1 || shows(shown, "⏳") {
			s.t.Fatalf("while the report is written, shown is %+v", shown)
		}
		snapshot("In the middle", shown)
	}
	musttest.Do(s.t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
	shown, ok := s.await(func(all []watchedMessage) bool { return shows(all, "The end.") && countStops(all) == 0 })
	if !ok || !strings.HasSuffix(shown[len(shown)-1].text, "The end.") {
		s.t.Fatalf("in the end, shown is %+v", shown)
	}
	snapshot("In the end", shown)
	return transcript.String()
}

func TestALongAnswerIsShownWhileItIsWrittenAndEndsWithItsEnd(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	path := examplePath("stream")
	want := musttest.Get(os.ReadFile(path))(t)
	page := new(strings.Builder)
	page.WriteString("# A long answer while it is written\n\nAn agent writes a report of 400 lines. This is what people see after the 60th line, and in the end. Long messages are\nabridged here. A draft, which Telegram shows in private chats, has no buttons; `/stop` ends its turn.\n`TestALongAnswerIsShownWhileItIsWrittenAndEndsWithItsEnd` writes this page.\n")
	for _, network := range []struct {
		name string
		open func(*testing.T) streamScene
	}{
		{"A group on Telegram", streamInATelegramGroup},
		{"A private chat on Telegram, with drafts", streamAsADraft},
		{"Discord", streamOnDiscord},
		{"The web page", streamOnThePage},
	} {
		t.Run(network.name, func(t *testing.T) {
			// What is not edited within 1.75 s after the end of its turn is sent again.
			pausetest.Try(t, time.Second/2, func() error {
				section := strings.ReplaceAll(fmt.Sprintf("\n## %s\n\n%s", network.name, network.open(t).play()), "\n\n\n", "\n\n")
				if !*update && !strings.Contains(string(want), strings.TrimRight(section, "\n")) {
					return fmt.Errorf("the section of %s (write it with -update) would be:%s", path, section)
				}
				page.WriteString(section)
				return nil
			})
		})
	}
	got := strings.ReplaceAll(page.String(), "\n\n\n", "\n\n")
	wanttest.File(t, path, strings.TrimSpace(got)+"\n", *update)
}

func streamInATelegramGroup(t *testing.T) streamScene {
	b := startTelegramBot(t, telegramSetup{agent: writesReport, channel: `, "groups": "all"`})
	b.api.AddChat(telegramtest.Chat{ID: oldGroup})
	b.api.SetFloodControl(telegramtest.TelegramFloodLimits)
	return streamScene{b.watch(oldGroup), filepath.Dir(b.cfg), nil}
}

func streamAsADraft(t *testing.T) streamScene {
	b := startTelegramBot(t, telegramSetup{agent: writesReport})
	b.api.SetFloodControl(telegramtest.TelegramFloodLimits)
	awaitDraft := func(words string) string {
		if _, ok := b.api.AwaitCalls("", telegramtest.WaitLimit, func(all []telegramtest.Call) bool {
			return slices.ContainsFunc(all, func(c telegramtest.Call) bool {
				return strings.HasSuffix(c.Method, "Draft") && strings.Contains(c.Params["text"], words) && c.Status == 200
			})
		}); !ok {
			t.Fatalf("no draft has %q", words)
		}
		d, _ := b.api.Draft(7)
		return d.Text
	}
	return streamScene{b.watch(7), filepath.Dir(b.cfg), awaitDraft}
}

func streamOnDiscord(t *testing.T) streamScene {
	b := startDiscordBot(t, discordSetup{agent: writesReport})
	return streamScene{b.watch(), filepath.Dir(b.cfg), nil}
}

func streamOnThePage(t *testing.T) streamScene {
	b := newWebBotWith(t, `"command": "sh report.sh", "protocol": "rich"`)
	dir := filepath.Dir(b.cfg)
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "report.sh"), []byte(writesReport), 0o600))
	return streamScene{b.watch(), dir, nil}
}
