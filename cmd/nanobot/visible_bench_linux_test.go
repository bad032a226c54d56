package main

import (
	"encoding/json"
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
	"nanobot/internal/musttest"
)

// datedAgent prints frames that contain the time at which they were printed. For the message
// work it prints progress five times a second until the file go exists, and then answers;
// any other message it answers at once.
const datedAgent = `read -r line
case $line in *'"text":"work"'*)
	i=0
	while ! [ -e go ]; do
		i=$((i+1))
		printf '{"type":"progress","text":"step %s at=%s"}\n' $i $(date +%s%N)
		sleep 0.2
	done;;
esac
printf '{"type":"message","text":"answer at=%s"}\n' $(date +%s%N)`

// visibleDelays are the times from printing a frame to the network call that shows it.
type visibleDelays struct {
	frames, answers []time.Duration
}

var printedAt = regexp.MustCompile(`(step \d+|answer) at=(\d+)`)

// add adds the delay of a call, if it shows a frame of datedAgent.
func (v *visibleDelays) add(text string, at time.Time) {
	m := printedAt.FindStringSubmatch(text)
	if m == nil {
		return
	}
	ns, _ := strconv.ParseInt(m[2], 10, 64)
	if delay := at.Sub(time.Unix(0, ns)); m[1] == "answer" {
		v.answers = append(v.answers, delay)
	} else {
		v.frames = append(v.frames, delay)
	}
}

// report reports the medians, and the slowest answer.
func (v *visibleDelays) report(b *testing.B) {
	b.Helper()
	if len(v.frames) == 0 || len(v.answers) == 0 {
		b.Fatal("nothing was shown")
	}
	b.ReportMetric(median(v.frames), "ms-frame-to-visible")
	b.ReportMetric(median(v.answers), "ms-end-to-answer")
	b.ReportMetric(slices.Max(v.answers).Seconds()*1e3, "ms-last-answer")
	b.ReportMetric(0, "ns/op")
}

func (v *visibleDelays) addTelegramCalls(calls []telegramtest.Call) {
	for _, c := range calls {
		if c.Status == 200 {
			v.add(c.Params["text"], c.At)
		}
	}
}

// letWorkersAnswer creates the file that datedAgent waits for.
func letWorkersAnswer(b *testing.B, dir string) {
	b.Helper()
	musttest.Do(b, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
}

// BenchmarkVisibleTelegramPrivate reports how long after a frame was printed its call reaches
// Telegram, in a private chat, within Telegram's limits.
func BenchmarkVisibleTelegramPrivate(b *testing.B) {
	var v visibleDelays
	for b.Loop() {
		bot := startBenchBot(b, buildBinary(b), telegramSetup{command: datedAgent})
		bot.api.SetFloodControl(telegramtest.TelegramFloodLimits)
		bot.api.UserSends(1000, "work")
		awaitTelegramCalls(b, bot.api, `step`, 5)
		letWorkersAnswer(b, bot.dir)
		awaitTelegramCalls(b, bot.api, `answer`, 1)
		v.addTelegramCalls(bot.api.Calls(""))
		bot.daemon.Kill()
	}
	v.report(b)
}

// BenchmarkVisibleTelegramTopics is the same in a group where six topics show their progress: a
// plain question in the seventh topic, and then the answers of the six at once.
func BenchmarkVisibleTelegramTopics(b *testing.B) {
	var plain, six visibleDelays
	for b.Loop() {
		bot := startBenchBot(b, buildBinary(b), telegramSetup{command: datedAgent, channel: `, "groups": "all"`})
		bot.api.SetFloodControl(telegramtest.TelegramFloodLimits)
		const group = -1001
		var topics []int
		for i := range 7 {
			topics = append(topics, bot.api.AddTopic(group, "topic "+strconv.Itoa(i)))
		}
		for _, topic := range topics[:6] {
			bot.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Topic: topic, Text: "work"})
		}
		awaitTelegramCalls(b, bot.api, `step`, 6)
		bot.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Topic: topics[6], Text: "hello"})
		plain.addTelegramCalls(awaitTelegramCalls(b, bot.api, `answer`, 1))
		letWorkersAnswer(b, bot.dir)
		six.addTelegramCalls(awaitTelegramCalls(b, bot.api, `answer`, 7))
		bot.daemon.Kill()
	}
	b.ReportMetric(median(plain.answers), "ms-plain-question")
	six.answers = slices.DeleteFunc(six.answers, func(d time.Duration) bool { return slices.Contains(plain.answers, d) })
	b.ReportMetric(slices.Min(six.answers).Seconds()*1e3, "ms-first-answer")
	six.report(b)
	reportLoad(b)
}

// BenchmarkVisibleTelegramPeople is the same for ten people in topics of a group who ask a second
// apart.
func BenchmarkVisibleTelegramPeople(b *testing.B) {
	var v visibleDelays
	for b.Loop() {
		bot := startBenchBot(b, buildBinary(b), telegramSetup{command: datedAgent, channel: `, "groups": "all"`})
		bot.api.SetFloodControl(telegramtest.TelegramFloodLimits)
		const group = -1001
		for i := range 10 {
			topic := bot.api.AddTopic(group, "topic "+strconv.Itoa(i))
			bot.api.UserPosts(telegramtest.UserPost{Chat: group, From: 7, Topic: topic, Text: "hello"})
			time.Sleep(time.Second)
		}
		v.addTelegramCalls(awaitTelegramCalls(b, bot.api, `answer`, 10))
		bot.daemon.Kill()
	}
	b.ReportMetric(median(v.answers), "ms-end-to-answer")
	b.ReportMetric(slices.Max(v.answers).Seconds()*1e3, "ms-last-answer")
	b.ReportMetric(0, "ns/op")
	reportLoad(b)
}

// BenchmarkVisibleTelegramAtOnce reports how long after 32 people wrote at once, each in a private
// chat, the answers reach Telegram.
func BenchmarkVisibleTelegramAtOnce(b *testing.B) {
	var after []time.Duration
	for b.Loop() {
		bot := startBenchBot(b, buildBinary(b), telegramSetup{command: datedAgent})
		const people = 32
		for round := range 2 { // in the second one no chat is new
			time.Sleep(3 * time.Second)
			bot.api.SetFloodControl(telegramtest.TelegramFloodLimits)
			began := time.Now()
			for i := range int64(people) {
				bot.api.UserSends(1000+i, "hello")
			}
			for _, c := range awaitTelegramCalls(b, bot.api, `answer`, people*(round+1)) {
				switch isAnswer := printedAt.MatchString(c.Params["text"]); {
				case c.Status == http.StatusTooManyRequests:
					b.Error("a call was refused")
				case isAnswer && round == 1 && c.At.After(began):
					after = append(after, c.At.Sub(began))
				}
			}
		}
		bot.daemon.Kill()
	}
	b.ReportMetric(median(after), "ms-median")
	b.ReportMetric(slices.Max(after).Seconds()*1e3, "ms-last-answer")
	b.ReportMetric(0, "ns/op")
	reportLoad(b)
}

// reportLoad reports the load of the machine, by which the times are to be judged.
func reportLoad(b *testing.B) {
	b.Helper()
	load, _, _ := strings.Cut(string(musttest.Get(os.ReadFile("/proc/loadavg"))(b)), " ")
	b.ReportMetric(musttest.Get(strconv.ParseFloat(load, 64))(b), "load")
}

// awaitTelegramCalls waits until so many calls have shown a text that matches, and returns all
// calls until then.
func awaitTelegramCalls(b *testing.B, api *telegramtest.Server, pattern string, n int) []telegramtest.Call {
	b.Helper()
	matches := regexp.MustCompile(pattern)
	calls, ok := api.AwaitCalls("", 2*time.Minute, func(all []telegramtest.Call) bool {
		shown := 0
		for _, c := range all {
			if c.Status == 200 && matches.MatchString(c.Params["text"]) {
				shown++
			}
		}
		return shown >= n
	})
	if !ok {
		b.Fatalf("%q was not shown %d times", pattern, n)
	}
	return calls
}

// BenchmarkVisibleDiscord is the same in a private chat on Discord.
func BenchmarkVisibleDiscord(b *testing.B) {
	var v visibleDelays
	for b.Loop() {
		api := discordtest.New(b)
		bot := startDiscordBench(b, api, discordSetup{command: datedAgent, allow: []string{"*"}}.writeConfig(b, api))
		user := "5000000000000001"
		api.UserSends(api.DM(user).ID, user, "work")
		awaitDiscordCalls(b, api, `step`, 5)
		letWorkersAnswer(b, bot.dir)
		for _, c := range awaitDiscordCalls(b, api, `answer`, 1) {
			v.add(contentOfCall(c), c.At)
		}
		bot.daemon.Kill()
	}
	v.report(b)
}

func awaitDiscordCalls(b *testing.B, api *discordtest.Server, pattern string, n int) []discordtest.Call {
	b.Helper()
	matches := regexp.MustCompile(pattern)
	calls, ok := api.AwaitCalls("", 2*time.Minute, func(all []discordtest.Call) bool {
		shown := 0
		for _, c := range all {
			if c.Done && c.Status == 200 && matches.MatchString(contentOfCall(c)) {
				shown++
			}
		}
		return shown >= n
	})
	if !ok {
		b.Fatalf("%q was not shown %d times", pattern, n)
	}
	return calls
}

// contentOfCall returns the text that a call to Discord sends or edits.
func contentOfCall(c discordtest.Call) string {
	var body struct{ Content string }
	_ = json.Unmarshal(c.Body, &body)
	return body.Content
}
