package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
)

var flowWord = regexp.MustCompile(`w[0-9]{7}`)

// BenchmarkTelegramACPFlow lets an agent say 10,000 words a second, each as a chunk of its own,
// into a chat of the released binary. It counts how often the chat is written to meanwhile, in new
// messages and edits, how much the daemon grows, and that every word arrives.
func BenchmarkTelegramACPFlow(b *testing.B) {
	const seconds, rate = 10, 10_000
	bot := startBenchBot(b, buildBinary(b), telegramSetup{
		protocol: "acp", command: fmt.Sprintf("TEST_ACP_AGENT=1 exec %s -dir %s", os.Args[0], b.TempDir()),
	})
	bot.api.UserSends(7, "flow 1 10000\nsay over")
	bot.awaitMessages(7, 1)
	var shown, grown, lost, took float64
	for b.Loop() {
		before, calls, began := bot.memory("RssAnon"), len(bot.api.Calls("")), time.Now()
		bot.api.UserSends(7, fmt.Sprintf("flow %d %d\nsay THE END", seconds, rate))
		most := before
		for time.Since(began) < seconds*time.Second {
			time.Sleep(100 * time.Millisecond)
			most = max(most, bot.memory("RssAnon"))
		}
		words := map[string]bool{}
		for time.Since(began) < time.Minute && len(words) < seconds*rate {
			time.Sleep(100 * time.Millisecond)
			collectDelivered(bot.api.Calls("")[calls:], words)
		}
		took += time.Since(began).Seconds()
		lost += float64(seconds*rate - len(words))
		grown = max(grown, most-before)
		for _, c := range bot.api.Calls("")[calls:] {
			if c.Method == "editMessageText" || strings.HasPrefix(c.Method, "send") && c.Method != "sendChatAction" {
				shown++
			}
		}
	}
	b.ReportMetric(shown/took, "shown/s")
	b.ReportMetric(grown, "MiB-grown")
	b.ReportMetric(lost, "lost")
	if lost > 0 {
		b.Errorf("%v words are lost", lost)
	}
}

// collectDelivered adds the words that calls have permanently added to the chat, as texts or files.
func collectDelivered(calls []telegramtest.Call, words map[string]bool) {
	for _, c := range calls {
		texts := []string{c.Params["text"], c.Params["caption"]}
		for _, u := range c.Uploads {
			texts = append(texts, string(u.Content))
		}
		if c.Method == "editMessageText" || c.Method == "sendMessageDraft" {
			continue
		}
		for _, text := range texts {
			for _, word := range flowWord.FindAllString(text, -1) {
				words[word] = true
			}
		}
	}
}
