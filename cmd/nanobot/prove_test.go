package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// proveState runs nanobot prove --json on the state of daemonCommand's daemons, until nothing is
// unfinished, and returns what it prints and its exit status.
func proveState(t *testing.T, cfg string) (p proof, status int) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		cmd := programCommand(t, "prove", "--json", "--config", cfg)
		cmd.Dir = filepath.Dir(cfg)
		out, err := cmd.Output()
		var ended *exec.ExitError
		if status = 0; errors.As(err, &ended) {
			status = ended.ExitCode()
		} else {
			musttest.Do(t, err)
		}
		p = proof{}
		if err := json.Unmarshal(out, &p); err != nil {
			t.Fatalf("prove printed %s: %v", out, err)
		}
		r := p.Reasons
		if unfinished := r["pending"] + r["running"] + r["sending"]; unfinished == 0 || time.Now().After(deadline) {
			return p, status
		}
	}
}

// checkProof checks that the state explains everything, and has as many messages as people have
// written. It returns how many of them have a report instead of an answer, and how many receipts
// there are.
func checkProof(t *testing.T, cfg string, asked int) (reported, receipts int) {
	t.Helper()
	p, status := proveState(t, cfg)
	reported = p.Reasons[string(store.Interrupted)]
	if status != 0 || len(p.Open) > 0 || p.In != asked || p.Answered+reported != asked {
		t.Errorf("%d were asked, and prove exits with %d and says %+v", asked, status, p)
	}
	return reported, p.Receipts
}

func TestProveSaysWhatIsNotExplained(t *testing.T) {
	b := newBot(t)
	b.configure(t, `{"terminal": {"command": "echo worked"}`+anybody)
	musttest.Do(t, os.RemoveAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot"))) // the daemon was never started
	if out, err := programCommand(t, "prove", "--config", b.cfg).CombinedOutput(); err != nil || !strings.Contains(string(out), "Everything is explained.") {
		t.Errorf("before the first start: %v: %s", err, out)
	}
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.net.UserWrites("1", "505", "hello")
	b.awaitText("1", "worked")
	b.net.UserWrites("1", "505", "/help")
	b.awaitText("1", "/stop")
	p, status := proveState(t, b.cfg)
	wanttest.Equal(t, "what is proved", [...]int{status, p.In, p.Answered, p.Reasons[store.ByCommand], p.Sends, p.Receipts, len(p.Open)},
		[...]int{0, 2, 1, 1, 2, 2, 0})
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	db := musttest.Get(sql.Open("sqlite", filepath.Join(filepath.Dir(b.cfg), ".nanobot", "nanobot.db")))(t)
	defer db.Close()
	_ = musttest.Get(db.Exec("DELETE FROM outbox WHERE inbound = 1"))(t)
	out, err := b.runCommand("prove")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 || !strings.Contains(out, "message 1") || !strings.Contains(out, ":1 ") {
		t.Errorf("without the send of an answer: %v: %s", err, out)
	}
	_ = musttest.Get(db.Exec("DELETE FROM inbox"))(t)
	p, status = proveState(t, b.cfg)
	if status != 1 || p.In != 0 || len(p.Open) != 1 || p.Open[0].What != "send" || p.Open[0].Problem != store.InLost {
		t.Errorf("without the messages: %d %+v", status, p)
	}
	for _, bad := range [][]string{{"--since", "0"}, {"--since", "x"}, {"more"}} {
		_, err := b.runCommand(append([]string{"prove"}, bad...)...)
		if !errors.As(err, &ended) || ended.ExitCode() != 2 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	b.configure(t, `{"terminal": 1}`)
	if _, err := b.runCommand("prove"); !errors.As(err, &ended) || ended.ExitCode() != 78 {
		t.Errorf("with a bad config: %v", err)
	}
}
