package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// soakAgent does what the second word of a message says, and leaves its number behind a or b. It
// counts its processes and its messages. A process that gets no message stays until it is killed.
const soakAgent = `echo >> started; read -r line || exec sleep 1000; echo >> served; text=${line#*'"text":"'}; text=${text%%'"'*}; n=${text%% *}
	say() { echo "{\"type\":\"message\",\"text\":\"$1$n\"}"; }
	case ${text#* } in
	plain) say b;;
	two) say a; sleep 0.2; say b;;
	slow) echo '{"type":"progress","text":"working"}'; sleep 1; echo '{"type":"progress","text":"still"}'; sleep 1; say b;;
	album) echo "{\"type\":\"message\",\"text\":\"b$n\",\"media\":[\"$PWD/a.png\",\"$PWD/b.png\",\"$PWD/c.png\"]}";;
	photos) m=${line#*'"media":['}; m=$(printf %s "${m%%]*}" | tr -cd , | wc -c); if [ "$m" = 2 ]; then say b; else say "$m files short of 3 for "; fi;;
	kids) sleep 300 & sleep 301 >/dev/null 2>&1 & say b;;
	daemon) setsid sleep 302 >/dev/null 2>&1 & say b;;
	hang) echo '{"type":"progress","text":"hanging"}'; sleep 300; say b;;
	esac
`

// TestSoak runs the real daemon on Telegram, Discord and the web for as long as SOAK says, with
// people who write, networks that fail, kills, restarts and reloads. NANOBOT_SEED is its chance.
// Without SOAK it takes some seconds, and one minute with NANOBOT_LONG=1. From 10m on, a million
// old messages are pruned meanwhile.
func TestSoak(t *testing.T) {
	t.Parallel()
	span, err := time.ParseDuration(os.Getenv("SOAK"))
	if err != nil {
		span = time.Minute
	}
	s := newSoak(t)
	const old = 1_000_000 // messages that are pruned meanwhile, if the daemon that runs on does so for long enough
	prunes := span/2 > 4*time.Minute
	if prunes {
		musttest.Do(t, musttest.Get(sqlite.Open(t.Context(), s.stateDir(), sqlite.Options{}))(t).Close())
		fillOld(t, s.stateDir(), old)
	}
	s.start()
	s.dc.AwaitReady(t) // nobody is told what was said before the first time
	// At first it is killed and restarted, under the race detector. Then one daemon runs on without
	// that, for its memory is measured, and the detector's own grows with all that happens.
	over := make(chan struct{})
	stormy := make(chan struct{})
	go func() {
		defer close(stormy)
		s.disturb(over, true)
	}()
	if err != nil && !killtest.IsLong() { // all but the memory, of which so short a time tells nothing
		span = 8 * time.Second
		s.runLoad(span)
		close(over)
		<-stormy
		s.end(syscall.SIGTERM)
		s.awaitCleanUp()
		s.checkAnswers()
		s.logReport(span)
		return
	}
	s.runLoad(span * 2 / 5)
	close(over)
	<-stormy
	s.program = plainBinary(t)
	s.restart(syscall.SIGTERM)
	s.runLoad(span / 10)
	s.awaitCleanUp()
	before := s.minResources()
	over, stormy = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stormy)
		s.disturb(over, false)
	}()
	s.runLoad(span / 2)
	close(over)
	<-stormy
	s.awaitCleanUp()
	after := s.minResources()
	s.end(syscall.SIGTERM)
	s.awaitCleanUp()
	s.checkAnswers()
	s.logReport(span)
	s.checkResources(before, after)
	if prunes {
		db := openState(t, s.stateDir())
		defer db.Close()
		pruned := 2*old - countOld(t, db, old)
		if t.Logf("%d of %d old messages and answers were pruned", pruned, 2*old); pruned == 0 {
			t.Error("nothing is pruned")
		}
	}
}

// soak is a daemon on three networks and the people who write to it.
type soak struct {
	t        *testing.T
	seed     uint64
	random   *rand.Rand // of the storm; the people and the networks have their own
	dir      string
	cfg      string
	listen   string
	tg       *telegramtest.Server
	dc       *discordtest.Server
	chats    []*soakChat
	users    []string // of Discord, which the bot must know to find what they said while it was away
	doubt    soakDoubt
	pauses   soakPauses
	inbounds soakInbounds
	stuck    atomic.Bool // somebody waits for ever, so the rest would be in vain

	program                  string
	daemon                   *killtest.Child
	began                    int   // where its log begins
	ends                     []int // the last call to Telegram of each daemon but the last
	kills, drains, reloads   int
	cuts                     int // of the connection to Discord
	left                     int // processes that outlived their daemon
	faults                   atomic.Int64
	sent, posted             map[int]time.Time // calls to Telegram and to Discord
	answered                 []time.Duration
	samples                  []processResources // of the daemon that runs on, at work
	slowest                  time.Duration
	slowestIs                string
	marked, doubled, reports int
}

// plainBinary builds what users run.
func plainBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nanobot")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{t: t, program: os.Args[0], seed: uint64(time.Now().UnixNano()), dir: t.TempDir(), listen: freeAddress(t), tg: telegramtest.New(t), dc: discordtest.New(t)}
	if n, err := strconv.ParseUint(os.Getenv("NANOBOT_SEED"), 10, 64); err == nil {
		s.seed = n
	}
	s.random = rand.New(rand.NewPCG(s.seed, 0))
	s.pauses.watch(t)
	s.tg.SetFault(s.telegramFault(rand.New(rand.NewPCG(s.seed, 1))))
	s.dc.SetFault(s.discordFault(rand.New(rand.NewPCG(s.seed, 2))))
	s.addChats()
	s.addPages()
	for i, c := range s.chats {
		c.random = rand.New(rand.NewPCG(s.seed, uint64(100+i)))
	}
	s.cfg = filepath.Join(s.dir, "config.json")
	s.configure(0)
	for name, content := range map[string][]byte{
		"agent.sh": []byte(soakAgent), "telegram": []byte(s.tg.Token), "discord": []byte(s.dc.Token), "http": []byte(soakToken),
		"a.png": telegramtest.PNG(40, 40), "b.png": telegramtest.PNG(50, 50), "c.png": telegramtest.PNG(60, 60),
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(s.dir, name), content, 0o600))
	}
	t.Cleanup(func() {
		if t.Failed() {
			kept := filepath.Join(os.TempDir(), fmt.Sprintf("nanobot-soak-%d.log", s.seed))
			t.Logf("NANOBOT_SEED=%d; the log is kept as %s (%v)", s.seed, kept, os.WriteFile(kept, []byte(s.log()), 0o600))
		}
	})
	return s
}

// configure writes the config, of which there are several good ones, and one that is not.
func (s *soak) configure(version int) {
	s.t.Helper()
	key, warm := "passHistory", 0
	if version < 0 {
		key = "passHistry"
	}
	if s.warm() {
		warm = 8
	}
	text := fmt.Sprintf(`{
		"terminal": {"command": "sh agent.sh", "protocol": "rich", %q: %d, "warm": {"chats": %d, "for": 5}},
		"channels": {
			"telegram": {"enabled": true, "token": "file:telegram", "apiBase": %q, "allowFrom": ["*"]},
			"discord": {"enabled": true, "token": "file:discord", "apiBase": %q, "allowFrom": [%s]},
			"web": {"enabled": true},
		},
		"http": {"listen": %q, "token": "file:http"},
		"gateway": {"maxConcurrent": 8, "onCrash": "retry", "drainTimeout": 3},
	}`, key, max(0, version)%3, warm, s.tg.URL, s.dc.URL, `"`+strings.Join(s.users, `", "`)+`"`, s.listen)
	musttest.Do(s.t, os.WriteFile(s.cfg+".new", []byte(text), 0o600))
	musttest.Do(s.t, os.Rename(s.cfg+".new", s.cfg))
}

// start begins a daemon, whose log goes to a file, and in a folder of its own, so that only agents
// are at home in the workspace.
func (s *soak) start() {
	s.t.Helper()
	log := musttest.Get(os.OpenFile(s.cfg+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(s.t)
	defer log.Close()
	s.began = len(s.log())
	cmd := exec.Command(s.program, "serve", "--config", s.cfg)
	cmd.Dir, cmd.Stderr = os.TempDir(), log
	if cmd.Env = environWithoutTestSettings(); s.program == os.Args[0] {
		cmd.Env = append(cmd.Env, "NANOBOT_TEST_MAIN=1")
	}
	s.daemon = killtest.Start(s.t, cmd)
}

func (s *soak) stateDir() string { return filepath.Join(s.dir, ".nanobot") }

func (s *soak) log() string {
	b, _ := os.ReadFile(s.cfg + ".log")
	return string(b)
}

// end ends the daemon in one way or the other.
func (s *soak) end(signal syscall.Signal) {
	s.t.Helper()
	_ = s.daemon.Signal(signal)
	late := time.AfterFunc(soakTimeout, func() { _ = s.daemon.Signal(syscall.SIGQUIT) })
	_ = s.daemon.Wait()
	late.Stop()
	status := s.daemon.State().Sys().(syscall.WaitStatus)
	young := !strings.Contains(s.log()[s.began:], `"starting"`) // it does not listen to signals yet
	if signal == syscall.SIGKILL && status.Signal() != signal || signal == syscall.SIGTERM && status != 0 && !young {
		s.t.Errorf("after %s the daemon ended with %s", signal, s.daemon.State())
	}
	if !s.tg.AwaitDisconnected(soakTimeout) {
		s.t.Error("the daemon is dead and its connections are not")
	}
	s.ends = append(s.ends, len(s.tg.Calls("")))
}

// restart starts another daemon, which takes over. Now and then that is not even let start, but
// then nobody gets an answer.
func (s *soak) restart(signal syscall.Signal) {
	s.end(signal)
	before := s.leftovers()
	s.start()
	if s.random.IntN(4) == 0 {
		return
	}
	for deadline := time.Now().Add(soakTimeout); !s.ready() && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
	}
	if s.ready() {
		s.checkKilled(before)
	}
}

// warm reports whether the agent's processes are started before their messages: with every other
// seed.
func (s *soak) warm() bool { return s.seed%2 == 1 }

func (s *soak) ready() bool { return strings.Contains(s.log()[s.began:], `"ready"`) }

// disturb makes things happen to the daemon until over is closed. If deadly, it ends the daemon now
// and then, and lets one in sixteen live longer: what was said on Discord in the last minutes is
// looked through at each start, and on a busy machine that takes longer than the others live.
func (s *soak) disturb(over <-chan struct{}, deadly bool) {
	for version := 1; ; version++ {
		pause := time.Duration(200+s.random.IntN(4000)) * time.Millisecond
		if deadly && version%16 == 0 {
			pause = 20 * time.Second
		}
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
		if !deadly {
			s.samples = append(s.samples, s.readResources())
		}
		switch n := s.random.IntN(10); {
		case deadly && n < 5:
			s.kills++
			s.restart(syscall.SIGKILL)
		case deadly && n < 7:
			s.drains++
			s.restart(syscall.SIGTERM)
		case n < 8:
			s.reload(version)
		case n == 8:
			s.cuts++
			s.dc.CutConnections()
		default:
			s.cuts++
			[]func(){s.dc.RequestReconnect, func() { s.dc.InvalidateSessions(false) }, s.dc.ExpireSessions}[s.random.IntN(3)]()
		}
	}
}

// reload makes the daemon read another config, or one with a mistake in it.
func (s *soak) reload(version int) {
	if version%3 == 0 {
		version = -version
		defer s.configure(0)
	}
	s.configure(version)
	before := strings.Count(s.log(), "reloaded")
	if !s.ready() {
		return // it would take the signal for its end
	}
	s.reloads++
	_ = s.daemon.Signal(syscall.SIGHUP)
	for deadline := time.Now().Add(soakTimeout); strings.Count(s.log(), "reloaded") == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Error("a reload was not noticed")
			return
		}
	}
}
