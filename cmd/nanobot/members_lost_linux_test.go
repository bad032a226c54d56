package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// fillPipe writes into a pipe until a further write would block.
func fillPipe(t *testing.T, w *os.File) {
	t.Helper()
	fd := musttest.Get(unix.Open(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))(t)
	defer unix.Close(fd)
	for _, size := range []int{4096, 1} {
		for err := error(nil); !errors.Is(err, unix.EAGAIN); {
			if _, err = unix.Write(fd, make([]byte, size)); err != nil && !errors.Is(err, unix.EAGAIN) {
				t.Fatal(err)
			}
		}
	}
}

func TestAMemberThatLostItsLeaseExitsEvenIfNobodyReadsItsLog(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	cfg := filepath.Join(t.TempDir(), "config.json")
	bot := fmt.Sprintf("lost%d", killtest.Seed())
	musttest.Do(t, os.WriteFile(cfg, fmt.Appendf(nil, `{
		"workspace": "ws", "terminal": {"command": "cat", "protocol": "plain"}, "channels": {"web": {"enabled": true}},
		"http": {"listen": "127.0.0.1:0", "token": "abcdefghijklmnopqrstuvwxyz0123456789"},
		"gateway": {"store": %q, "bot": %q, "member": {"name": "a", "ttl": 60}}
	}`, url, bot), 0o600))
	r, w, err := os.Pipe()
	musttest.Do(t, err)
	defer r.Close()
	defer w.Close()
	cmd := exec.Command(os.Args[0], "serve", "--config", cfg)
	cmd.Dir, cmd.Env, cmd.Stderr = filepath.Dir(cfg), append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1"), w
	daemon := killtest.Start(t, cmd)
	for log := bufio.NewScanner(r); !strings.Contains(log.Text(), `"ready"`) && !strings.Contains(log.Text(), "\tready"); {
		if !log.Scan() {
			t.Fatal("the daemon is not ready")
		}
		t.Log(log.Text())
	}
	fillPipe(t, w)
	db := musttest.Get(pgx.Connect(t.Context(), url))(t)
	defer db.Close(t.Context())
	musttest.Get(db.Exec(t.Context(), "UPDATE nanobot_"+bot+".member SET lease = -1"))(t) // others consider it gone
	musttest.Get(db.Exec(t.Context(), "SELECT pg_notify($1, '')", "nanobot_"+bot))(t)     // it looks at once
	ended := make(chan struct{})
	go func() { defer close(ended); _ = daemon.Wait() }()
	select {
	case <-ended:
		wanttest.Equal(t, "exit status", daemon.State().ExitCode(), exit.NoLease)
	case <-time.After(waitTimeout):
		t.Fatal("the daemon still runs")
	}
}
