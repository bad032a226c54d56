package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

// memberTTL is the lease of a member of a cluster.
const memberTTL = 2 * time.Second

// memberAgent answers question 17 with its own name, 17, the chat's folder and the number of the
// files of the question; one in three answers has a picture or an album. Runs of one chat that
// overlap in time are noted: a lock ends with its process.
const memberAgent = `read -r line; text=${line#*'"text":"'}; n=${text%%'"'*}; home=$PWD; files=0
	case $line in *'"media":["'*) m=${line#*'"media":['}; files=$(($(printf %s "${m%%]*}" | tr -cd , | wc -c) + 1));; esac
	cd "$NANOBOT_USER_DATA_DIR"; exec 9>>lock
	if flock -n 9; then echo "$TEST_MEMBER" >holder; else echo "$n by $TEST_MEMBER beside $(cat holder)" >>overlaps; fi
	echo "$1 $n $TEST_MEMBER" >>seen
	case $n in *4) sleep 1.2 9>&-;; *[28]) sleep 0.4 9>&-;; esac
	media=; case $((n % 6)) in 0) media="\"$home/a.png\",\"$home/b.png\",\"$home/c.png\"";; 3) media="\"$home/a.png\"";; esac
	echo "{\"type\":\"message\",\"text\":\"$1 $n ${NANOBOT_USER_DATA_DIR##*/} $files\",\"media\":[$media]}"`

// cluster is three members on a database with a synchronous standby, and the people who write to
// them. Each member has its own network to each server.
type cluster struct {
	t                *testing.T
	seed             uint64
	random           *rand.Rand // used by one goroutine
	dir              string
	accounts         []*testAccount
	files            map[string]int // of a question, by account and number
	members          []*member
	primary, standby *postgrestest.Server
	work             sync.WaitGroup // disturbances
	counts           map[string]int // of disturbances
	failingOver      atomic.Bool

	mu   sync.Mutex
	runs []*memberRun
}

// member is a name under which one process runs after the other.
type member struct {
	name, cfg string
	database  []*memberLink
	networks  []*memberLink
	busy      atomic.Bool // something happens to it
	run       atomic.Pointer[memberRun]
}

// memberRun is one process of a member.
type memberRun struct {
	name      string // host-a.3
	address   net.IP // which servers see
	log       string
	cmd       *exec.Cmd
	done      chan struct{}
	disturbed atomic.Bool // the database could not be reached for a time
	suspended atomic.Bool
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	seed := killtest.Seed()
	postgrestest.URL(t) // or the test is skipped
	s := &cluster{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), files: map[string]int{}, counts: map[string]int{}}
	s.primary = musttest.Get(postgrestest.Start())(t)
	t.Cleanup(s.primary.Stop)
	var cfg string
	s.accounts, cfg = newAccounts(t, seed)
	s.dir = filepath.Dir(cfg)
	for name, content := range map[string][]byte{
		"agent.sh": []byte(memberAgent), "a.png": telegramtest.PNG(40, 40), "b.png": telegramtest.PNG(50, 50), "c.png": telegramtest.PNG(60, 60),
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(s.dir, name), content, 0o600))
	}
	text := s.addMover(string(musttest.Get(os.ReadFile(cfg))(t)))
	for _, name := range []string{"host-a", "host-b", "host-c"} {
		s.addMember(name, text)
	}
	t.Cleanup(s.end)
	return s
}

// addStandby starts a synchronous standby of the database.
func (s *cluster) addStandby() {
	s.t.Helper()
	s.standby = musttest.Get(s.primary.StartStandby())(s.t)
	s.t.Cleanup(s.standby.Stop)
	s.execute(s.primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	s.execute(s.primary, "SELECT pg_reload_conf()")
	for _, m := range s.members {
		m.database[1].connectTo(s.standby.Socket())
	}
}

// addMover adds the chat of a persistent agent, whose sessions are in the shared workspace.
func (s *cluster) addMover(config string) string {
	api := s.accounts[0].telegram
	s.accounts = append(s.accounts, &testAccount{
		agent: "mover", folder: "8", marks: true,
		ask:      func(text string, _ int) { api.UserSends(8, "say mover "+text+" 8 0") },
		messages: func() []accountMessage { return telegramMessages(api, 8) },
	})
	command := "echo $TEST_MEMBER >>movers; " + acpAgent(s.t, "-load")
	config = strings.Replace(config, `"agents": {`, fmt.Sprintf(`"agents": {"mover": {"command": %q, "protocol": "acp"}, `, command), 1)
	return strings.Replace(config, `"routes": [`, `"routes": [{"match": {"channel": "telegram", "chat": "8"}, "agent": "mover"}, `, 1)
}

// addMember writes the config of a member, whose servers are at the ends of its links.
func (s *cluster) addMember(name, config string) {
	s.t.Helper()
	m := &member{name: name, cfg: filepath.Join(s.dir, name+".json")}
	for range 2 { // for the standby, too
		m.database = append(m.database, startMemberLink(s.t, "unix", s.primary.Socket(), true, nil))
	}
	from := func() net.Addr { return &net.TCPAddr{IP: m.run.Load().address} }
	for _, a := range s.accounts {
		if a.url != "" {
			l := startMemberLink(s.t, "tcp", strings.TrimPrefix(a.url, "http://"), false, from)
			config = strings.ReplaceAll(config, a.url, "http://"+l.addr())
			m.networks = append(m.networks, l)
		}
	}
	config = strings.Replace(config, `"gateway": {"maxConcurrent": 8,`, fmt.Sprintf(
		`"gateway": {"store": "postgres://nanobot@%s,%s/postgres?sslmode=disable", "bot": "b", "member": {"name": %q, "ttl": %d}, "maxConcurrent": 3,`,
		m.database[0].addr(), m.database[1].addr(), name, int(memberTTL.Seconds())), 1)
	musttest.Do(s.t, os.WriteFile(m.cfg, []byte(config), 0o600))
	s.members = append(s.members, m)
}

// start starts a process of a member, whose clock is right or wrong by ten minutes.
func (s *cluster) start(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.runs) + 1
	name := fmt.Sprintf("%s.%d", m.name, n)
	r := &memberRun{name: name, address: net.IPv4(127, 1, byte(n>>8), byte(n)), log: filepath.Join(s.dir, name+".log"), done: make(chan struct{})}
	log, err := os.Create(r.log)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer log.Close()
	r.cmd = daemonCommand(m.cfg)
	clock := []string{"0", "10m", "-10m"}[n%3]
	r.cmd.Env = append(r.cmd.Env, "TEST_MEMBER="+name, "TEST_CLOCK="+clock)
	r.cmd.Stderr = log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.run.Store(r)
	if s.failingOver.Load() { // asked after Store, so that failOver finds the process or is found
		r.disturbed.Store(true)
	}
	if err := r.cmd.Start(); err != nil {
		s.t.Error(err)
		close(r.done)
		return
	}
	s.runs = append(s.runs, r)
	go func() {
		_ = r.cmd.Wait()
		close(r.done)
	}()
}

func (r *memberRun) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *memberRun) logText() string {
	text, _ := os.ReadFile(r.log)
	return string(text)
}

func (r *memberRun) isReady() bool { return strings.Contains(r.logText(), `"ready"`) }

// kill ends a process with SIGKILL.
func (r *memberRun) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
}

// restartEnded starts the members again that have ended by themselves, as systemd does.
func (s *cluster) restartEnded() {
	for _, m := range s.members {
		if r := m.run.Load(); !m.busy.Load() && r.hasEnded() {
			s.checkStatus(r)
			s.start(m)
		}
	}
}

// checkStatus checks how a process has ended that was not told to.
func (s *cluster) checkStatus(r *memberRun) {
	status := r.cmd.ProcessState.ExitCode()
	cannotStart := status == exit.Failed && !r.isReady() // a busy database is one that cannot be reached
	if status != exit.NoLease && !cannotStart {
		s.t.Errorf("%s has ended with %s", r.name, r.cmd.ProcessState)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[fmt.Sprintf("exits with %d", status)]++
}

// end ends everything, and shows the logs of the last processes if the test has failed.
func (s *cluster) end() {
	s.work.Wait()
	for i, r := range s.runs {
		r.kill()
		if s.t.Failed() && i >= len(s.runs)-6 {
			log := r.logText()
			s.t.Logf("%s logged:\n%s", r.name, log[max(0, len(log)-3000):])
		}
	}
	if s.t.Failed() {
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("nanobot-members-%d", s.seed))
		s.t.Logf("NANOBOT_SEED=%d; the logs are kept in %s (%v)", s.seed, kept, os.CopyFS(kept, os.DirFS(s.dir)))
	}
}

// ask has people write for a while.
func (s *cluster) ask(span time.Duration) {
	for until := time.Now().Add(span); time.Now().Before(until); {
		if a := s.accounts[s.random.IntN(len(s.accounts))]; a.asked-a.countAnswered() < 3 {
			files := 0
			switch kind := s.random.IntN(5); {
			case kind == 0:
				files = min(1, a.album)
			case kind == 1 && a.asked == a.countAnswered(): // a text just before an album would belong to it
				files = a.album
			}
			a.asked++
			s.files[fmt.Sprint(a.agent, a.asked)] = files
			a.ask(fmt.Sprint(a.asked), files)
		}
		s.restartEnded()
		time.Sleep(time.Duration(s.random.IntN(100)) * time.Millisecond)
	}
}
