package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/channels/telegram/telegramtest/fast"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// outsideBot is a daemon beside a fast Bot API server. Both are processes of their own.
type outsideBot struct {
	b                *testing.B
	url, binary, cfg string
	server, daemon   *killtest.Child
}

const firstOutsideChat = 1000

// newOutsideBot starts a server, and creates a state in which so many chats have had a turn.
func newOutsideBot(b *testing.B, binary string, s telegramSetup, chats int) *outsideBot {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environWithoutTestSettings(), "TEST_FAST_TELEGRAM=1")
	musttest.Get(cmd.StdinPipe())(b) // the server ends with it
	out := musttest.Get(cmd.StdoutPipe())(b)
	bot := &outsideBot{b: b, binary: binary, server: killtest.Start(b, cmd)}
	bot.url = strings.TrimSpace(musttest.Get(bufio.NewReader(out).ReadString('\n'))(b))
	s.allow = "*"
	bot.cfg = s.writeConfig(b, &telegramtest.Server{URL: bot.url, Token: telegramtest.DefaultToken})
	fillChats(b, bot.stateDir(), chats)
	return bot
}

func (bot *outsideBot) stateDir() string { return filepath.Join(filepath.Dir(bot.cfg), ".nanobot") }

// start starts the daemon and returns the time until its first getUpdates has reached the server.
func (bot *outsideBot) start() time.Duration {
	bot.b.Helper()
	bot.post("/forget", nil, nil)
	began := time.Now()
	bot.daemon = startRelease(bot.b, bot.binary, bot.cfg)
	var at int64
	bot.post("/polled", nil, &at)
	return time.Unix(0, at).Sub(began)
}

// post makes a request to the server that is no call of the Bot API.
func (bot *outsideBot) post(path string, body, result any) {
	bot.b.Helper()
	content := musttest.Get(json.Marshal(body))(bot.b)
	r := musttest.Get(http.Post(bot.url+path, "application/json", bytes.NewReader(content)))(bot.b)
	defer func() { _ = r.Body.Close() }()
	if result != nil {
		musttest.Do(bot.b, json.NewDecoder(r.Body).Decode(result))
	}
}

// ask lets people write to the bot.
func (bot *outsideBot) ask(l fast.Load) fast.Result {
	bot.b.Helper()
	l.First, l.Text, l.Answer = firstOutsideChat, "hello", "hi"
	var r fast.Result
	if bot.post("/load", l, &r); r.Error != "" || len(r.Latencies) != l.Turns {
		bot.b.Fatalf("%d of %d messages were answered: %s", len(r.Latencies), l.Turns, r.Error)
	}
	return r
}

// measure adds a row about a load to a grid, and returns the largest resident memory of the daemon
// meanwhile, in MiB.
func (bot *outsideBot) measure(g *grid, row string, l fast.Load) (rss float64) {
	bot.b.Helper()
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			rss = max(rss, bot.memory("VmRSS"))
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	daemon, agents := cpuTime(bot.b, bot.daemon.PID())
	server, _ := cpuTime(bot.b, bot.server.PID())
	r := bot.ask(l)
	daemonAfter, agentsAfter := cpuTime(bot.b, bot.daemon.PID())
	serverAfter, _ := cpuTime(bot.b, bot.server.PID())
	close(done)
	<-watched
	g.addTurns(row, r.Latencies, r.Took, daemonAfter-daemon, agentsAfter-agents, serverAfter-server)
	return rss
}

func (bot *outsideBot) memory(name string) float64 { return memoryOf(bot.b, bot.daemon.PID(), name) }

// cpuTime returns the processor time of a process and of its children that have ended, and were
// waited for, from /proc/PID/stat. The kernel counts in hundredths of a second there.
func cpuTime(b *testing.B, pid int) (own, children time.Duration) {
	b.Helper()
	content := musttest.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(b)
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	ticks := func(i int) time.Duration {
		return time.Duration(musttest.Get(strconv.Atoi(fields[i]))(b)) * 10 * time.Millisecond
	}
	return ticks(11) + ticks(12), ticks(13) + ticks(14)
}

// measureBare adds a row about bare processes to a grid, so many at a time.
func measureBare(b *testing.B, g *grid, row string, times, atOnce int, argv ...string) {
	b.Helper()
	var mu sync.Mutex
	var all []time.Duration
	self, children := usedTime(b, unix.RUSAGE_SELF), usedTime(b, unix.RUSAGE_CHILDREN)
	began := time.Now()
	var work sync.WaitGroup
	for range atOnce {
		work.Go(func() {
			for range times / atOnce {
				from := time.Now()
				cmd := exec.Command(argv[0], argv[1:]...)
				cmd.Stdin = strings.NewReader(someEnvelope)
				if out, err := cmd.Output(); err != nil || !bytes.Contains(out, []byte("hi")) {
					b.Errorf("%s: %v", out, err)
				}
				mu.Lock()
				all = append(all, time.Since(from))
				mu.Unlock()
			}
		})
	}
	work.Wait()
	took := time.Since(began)
	g.addTurns(row, all, took, usedTime(b, unix.RUSAGE_SELF)-self, usedTime(b, unix.RUSAGE_CHILDREN)-children, 0)
}

// usedTime returns the processor time of this process, or of its children.
func usedTime(b *testing.B, who int) time.Duration {
	var u unix.Rusage
	musttest.Do(b, unix.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fillChats gives so many chats one turn each that has ended and whose answer was sent.
func fillChats(b *testing.B, dir string, chats int) {
	b.Helper()
	ctx := context.Background()
	s := musttest.Get(sqlite.Open(ctx, dir, sqlite.Options{}))(b)
	var work errgroup.Group
	const writers = 200
	for w := range writers {
		work.Go(func() error {
			for i := w; i < chats; i += writers {
				if err := fillChat(ctx, s, channels.Chat{Channel: "telegram", ID: strconv.Itoa(firstOutsideChat + i)}, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	musttest.Do(b, work.Wait())
	musttest.Do(b, s.Close())
}

func fillChat(ctx context.Context, s *sqlite.Store, chat channels.Chat, n int) error {
	in := channels.Incoming{Chat: chat, ID: "m" + strconv.Itoa(n), Text: "hello", User: channels.User{ID: chat.ID}}
	received, err := s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true})
	if err != nil {
		return err
	}
	answer, _, err := s.Enqueue(ctx, store.Outbound{
		Inbound: received.Inbound.ID, Sequence: 1, Claim: true, Entry: &store.Entry{Role: "agent", Text: "hi"},
		Parts: []channels.Outgoing{{Chat: chat, Kind: channels.Answer, Text: "hi"}},
	})
	if err != nil {
		return err
	}
	if _, err := s.Settle(ctx, answer.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
		return err
	}
	_, err = s.Finish(ctx, received.Inbound.ID, store.Done, store.Outcome{Status: "done"})
	return err
}
