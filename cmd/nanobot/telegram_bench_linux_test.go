package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// benchBot is the binary as it is released, at work against a Telegram on loopback.
type benchBot struct {
	b      *testing.B
	api    *telegramtest.Server
	dir    string
	daemon *killtest.Child
}

func startBenchBot(b *testing.B, binary string, s telegramSetup) *benchBot {
	b.Helper()
	s.allow = "*"
	bot := &benchBot{b: b, api: telegramtest.New(b)}
	cfg := s.writeConfig(b, bot.api)
	bot.dir = filepath.Dir(cfg)
	bot.daemon = startRelease(b, binary, cfg)
	bot.api.AwaitPoll(b)
	return bot
}

// startRelease starts a daemon from the binary as it is released, in the folder of its config.
func startRelease(b *testing.B, binary, cfg string) *killtest.Child {
	b.Helper()
	cmd := exec.Command(binary, "serve", "--config", cfg)
	cmd.Dir, cmd.Env = filepath.Dir(cfg), environWithoutTestSettings()
	return killtest.Start(b, cmd)
}

// memory returns a line of the daemon's status, in MiB.
func (bot *benchBot) memory(name string) float64 { return memoryOf(bot.b, bot.daemon.PID(), name) }

// memoryOf returns a line of a process's status, in MiB.
func memoryOf(b *testing.B, pid int, name string) float64 {
	b.Helper()
	return readMemory(b, fmt.Sprintf("/proc/%d/status", pid), name)
}

// readMemory returns a line of a file with sizes in KiB, in MiB.
func readMemory(b *testing.B, file, name string) float64 {
	b.Helper()
	content := musttest.Get(os.ReadFile(file))(b)
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib / 1024
		}
	}
	b.Fatalf("no %s in %s", name, file)
	return 0
}

// idleTime is how long a daemon has had nothing to do before its memory is measured.
const idleTime = 3 * time.Second

// idleMemory waits for idleTime and returns the resident and the private memory of a process, in
// MiB. Private memory consists of the pages that the process has written.
func idleMemory(b *testing.B, pid int) (rss, private float64) {
	b.Helper()
	time.Sleep(idleTime)
	file := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	return readMemory(b, file, "Rss"), readMemory(b, file, "Private_Dirty")
}

// awaitMessages waits until a chat, or all of them for 0, shows so many messages.
func (bot *benchBot) awaitMessages(chat int64, n int) {
	bot.b.Helper()
	if _, ok := bot.api.AwaitMessages(chat, time.Minute, func(all []telegramtest.Message) bool { return len(all) >= n }); !ok {
		bot.b.Fatalf("chat %d does not show %d messages", chat, n)
	}
}

const (
	trivialAgent = `read -r line; echo '{"type":"message","text":"hi"}'`
	// someEnvelope is about what the agent is handed.
	someEnvelope = `{"version":1,"type":"message","text":"hello","channel":"telegram","chat_id":"1000","session_key":"telegram:1000","workspace":"/tmp","user_data_dir":"/tmp","media":[],"providers":{}}` + "\n"
)

// timeCommand measures a command line as a bare process.
func timeCommand(b *testing.B, dir, command string) time.Duration {
	began := time.Now()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(someEnvelope)
	if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte("hi")) {
		b.Errorf("%s: %v", out, err)
	}
	return time.Since(began)
}

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return all[len(all)/2].Seconds() * 1e3
}

// BenchmarkTelegramReply reports the median time from an update to its answer, through the real
// binary and HTTP, against the bare process. It goes from chat to chat and rests in between,
// because the daemon sends no faster than Telegram allows: 30 messages a second.
func BenchmarkTelegramReply(b *testing.B) {
	bot := startBenchBot(b, buildBinary(b), telegramSetup{command: trivialAgent})
	const chats = 100
	for i := range int64(chats) { // so that no chat is new
		bot.api.UserSends(1000+i, "hello")
	}
	bot.awaitMessages(0, chats)
	var ours, floor []time.Duration
	for n := chats; b.Loop(); n++ {
		time.Sleep(50 * time.Millisecond)
		floor = append(floor, timeCommand(b, bot.dir, trivialAgent))
		chat := 1000 + int64(n%chats)
		began := time.Now()
		bot.api.UserSends(chat, "hello")
		bot.awaitMessages(chat, n/chats+1)
		ours = append(ours, time.Since(began))
	}
	b.ReportMetric(median(ours), "ms")
	b.ReportMetric(median(floor), "ms-bare")
	b.ReportMetric(median(ours)-median(floor), "ms-overhead")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTelegramThousandChats reports how fast 1,000 chats × 5 messages are worked off, against
// the same number of bare processes, as many at a time. It ends when the last agent has, and its
// answer is stored: sending takes minutes at the pace that Telegram allows, and goes on meanwhile.
func BenchmarkTelegramThousandChats(b *testing.B) {
	const chats, each, atOnce = 1000, 5, 8
	binary := buildBinary(b)
	for name, work := range map[string]string{"trivial": "", "20ms": "sleep 0.02; "} {
		command := work + trivialAgent + "; echo x >> done"
		b.Run(name, func(b *testing.B) {
			var ours, floor time.Duration
			for b.Loop() {
				floor += timeParallelCommands(b, command, chats*each/2, atOnce) // half before and half behind, should the machine be busy
				bot := startBenchBot(b, binary, telegramSetup{command: command})
				began := time.Now()
				for range each {
					for i := range int64(chats) {
						bot.api.UserSends(1000+i, "hello")
					}
				}
				for size := int64(0); size < 2*chats*each; time.Sleep(2 * time.Millisecond) {
					if info, err := os.Stat(filepath.Join(bot.dir, "done")); err == nil {
						size = info.Size()
					}
				}
				ours += time.Since(began)
				bot.daemon.Kill()
				floor += timeParallelCommands(b, command, chats*each/2, atOnce)
			}
			total := float64(b.N * chats * each)
			b.ReportMetric(total/ours.Seconds(), "turns/s")
			b.ReportMetric(total/floor.Seconds(), "bare/s")
			b.ReportMetric(floor.Seconds()/ours.Seconds(), "x-of-bare")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// timeParallelCommands runs a command line many times, several at a time.
func timeParallelCommands(b *testing.B, command string, times, atOnce int) time.Duration {
	dir := b.TempDir()
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(times))
	var work sync.WaitGroup
	for range atOnce {
		work.Go(func() {
			for left.Add(-1) >= 0 {
				timeCommand(b, dir, command)
			}
		})
	}
	work.Wait()
	return time.Since(began)
}

// BenchmarkTelegramIdle reports what the daemon holds in memory when it has answered somebody and
// waits for more.
func BenchmarkTelegramIdle(b *testing.B) {
	bot := startBenchBot(b, buildBinary(b), telegramSetup{command: trivialAgent})
	var rss, private []float64
	for b.Loop() {
		bot.api.UserSends(1000, "hello")
		bot.awaitMessages(1000, len(rss)+1)
		bot.api.AwaitPoll(b)
		all, own := idleMemory(b, bot.daemon.PID())
		rss, private = append(rss, all), append(private, own)
	}
	b.ReportMetric(slices.Max(rss), "MiB-RSS")
	b.ReportMetric(slices.Max(private), "MiB-private")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkServeReady reports the median time from the start of the daemon until it is ready, with
// a database that exists, and of `true` as its floor.
func BenchmarkServeReady(b *testing.B) {
	binary, api := buildBinary(b), telegramtest.New(b)
	cfg := telegramSetup{command: trivialAgent, allow: "*"}.writeConfig(b, api)
	start := func() time.Duration {
		cmd := exec.Command(binary, "serve", "--config", cfg)
		cmd.Dir, cmd.Env = filepath.Dir(cfg), environWithoutTestSettings()
		log := musttest.Get(cmd.StderrPipe())(b)
		began := time.Now()
		daemon := killtest.Start(b, cmd)
		lines := bufio.NewScanner(log)
		for lines.Scan() && !strings.Contains(lines.Text(), `"ready"`) {
		}
		took := time.Since(began)
		musttest.Do(b, daemon.Signal(syscall.SIGTERM))
		musttest.Get(io.Copy(io.Discard, log))(b)
		musttest.Do(b, daemon.Wait())
		return took
	}
	start() // creates the database
	var ours, floor []time.Duration
	for b.Loop() {
		began := time.Now()
		musttest.Do(b, exec.Command("/bin/true").Run())
		floor = append(floor, time.Since(began))
		ours = append(ours, start())
	}
	b.ReportMetric(median(ours), "ms")
	b.ReportMetric(median(floor), "ms-of-true")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTelegramUpload reports the peak memory of a daemon that sends a file of 45 MB, to one
// chat and to eight at once.
func BenchmarkTelegramUpload(b *testing.B) {
	binary := buildBinary(b)
	for _, chats := range []int{1, 8} {
		b.Run(fmt.Sprintf("chats=%d", chats), func(b *testing.B) {
			var peak, private float64
			for b.Loop() {
				bot := startBenchBot(b, binary, telegramSetup{command: `read -r line; echo "{\"type\":\"message\",\"text\":\"here\",\"media\":[\"$PWD/big.bin\"]}"`})
				big := filepath.Join(bot.dir, "big.bin")
				musttest.Do(b, os.WriteFile(big, []byte("big"), 0o600))
				musttest.Do(b, os.Truncate(big, 45_000_000))
				for i := range chats {
					bot.api.UserSends(1000+int64(i), "send it")
				}
				bot.awaitMessages(0, chats)
				if uploads := bot.api.Calls("sendDocument"); len(uploads) != chats || len(uploads[0].Uploads[0].Content) != 45_000_000 {
					b.Fatalf("%d uploads", len(uploads))
				}
				peak, private = max(peak, bot.memory("VmHWM")), max(private, bot.memory("RssAnon"))
			}
			b.ReportMetric(peak, "MiB-peak-RSS")
			b.ReportMetric(private, "MiB-private")
			b.ReportMetric(0, "ns/op")
		})
	}
}
