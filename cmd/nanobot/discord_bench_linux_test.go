package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// discordBench is the binary as it is released, at work against a Discord on loopback.
type discordBench struct {
	b   *testing.B
	api *discordtest.Server
	dir string

	daemon *killtest.Child
}

func startDiscordBench(b *testing.B, api *discordtest.Server, cfg string) *discordBench {
	b.Helper()
	bot := &discordBench{b: b, api: api, dir: filepath.Dir(cfg)}
	bot.daemon = startRelease(b, buildBinary(b), cfg)
	api.AwaitReady(b)
	return bot
}

// awaitMessages waits until a chat, or all of them for "", shows so many messages.
func (bot *discordBench) awaitMessages(chat string, n int) {
	bot.b.Helper()
	if _, ok := bot.api.AwaitMessages(chat, time.Minute, func(all []discordtest.Message) bool { return len(all) >= n }); !ok {
		bot.b.Fatalf("chat %s does not show %d messages", chat, n)
	}
}

// BenchmarkDiscordReply reports the median time from a message to its answer, through the real
// binary, the gateway and REST, against the bare process. It rests in between, because the daemon
// makes no more calls a second than Discord allows.
func BenchmarkDiscordReply(b *testing.B) {
	api := discordtest.New(b)
	bot := startDiscordBench(b, api, discordSetup{command: trivialAgent, allow: []string{"*"}}.writeConfig(b, api))
	const chats = 20
	var dms []string
	for i := range chats { // so that no chat is new
		user := strconv.Itoa(5_000_000_000_000_000 + i)
		dms = append(dms, api.DM(user).ID)
		api.UserSends(dms[i], user, "hello")
	}
	bot.awaitMessages("", chats)
	var ours, floor []time.Duration
	for n := chats; b.Loop(); n++ {
		time.Sleep(100 * time.Millisecond)
		floor = append(floor, timeCommand(b, bot.dir, trivialAgent))
		began := time.Now()
		api.UserSends(dms[n%chats], strconv.Itoa(5_000_000_000_000_000+n%chats), "hello")
		bot.awaitMessages(dms[n%chats], n/chats+1)
		ours = append(ours, time.Since(began))
	}
	b.ReportMetric(median(ours), "ms")
	b.ReportMetric(median(floor), "ms-bare")
	b.ReportMetric(median(ours)-median(floor), "ms-overhead")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBothChannelsIdle reports what the daemon holds in memory when it is on Telegram and
// Discord, with a server of a hundred channels, has answered somebody on both and waits for more.
func BenchmarkBothChannelsIdle(b *testing.B) {
	api, telegram := discordtest.New(b), telegramtest.New(b)
	g := api.AddGuild("home")
	for i := range 100 {
		api.AddChannel(g.ID, "channel-"+strconv.Itoa(i))
	}
	cfg := discordSetup{command: trivialAgent}.writeConfig(b, api)
	written := musttest.Get(os.ReadFile(cfg))(b)
	both := strings.Replace(string(written), `"channels": {`, `"channels": {"telegram": {"enabled": true, "token": "`+telegram.Token+`",
		"apiBase": "`+telegram.URL+`", "allowFrom": ["7"]}, `, 1)
	musttest.Do(b, os.WriteFile(cfg, []byte(both), 0o600))
	bot := startDiscordBench(b, api, cfg)
	telegram.AwaitPoll(b)
	dm := api.DM(ada).ID
	var rss, private []float64
	for b.Loop() {
		api.UserSends(dm, ada, "hello")
		telegram.UserSends(7, "hello")
		bot.awaitMessages(dm, len(rss)+1)
		telegram.WaitForCount(b, 7, len(rss)+1)
		all, own := idleMemory(b, bot.daemon.PID())
		rss, private = append(rss, all), append(private, own)
	}
	b.ReportMetric(slices.Max(rss), "MiB-RSS")
	b.ReportMetric(slices.Max(private), "MiB-private")
	b.ReportMetric(0, "ns/op")
}
