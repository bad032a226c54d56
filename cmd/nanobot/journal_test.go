package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/zap"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestEachLineInTheJournalHasItsPriority(t *testing.T) {
	f := musttest.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	defer f.Close()
	info := musttest.Get(f.Stat())(t)
	s := info.Sys().(*syscall.Stat_t)
	for stream, want := range map[string]string{
		fmt.Sprintf("%d:%d", s.Dev, s.Ino):   `<7>{"level":"debug" <6>{"level":"info" <4>{"level":"warn" <3>{"level":"error"`,
		fmt.Sprintf("%d:%d", s.Dev, s.Ino+1): `{"level":"debug" {"level":"info" {"level":"warn" {"level":"error"`, // somebody else's
		"":                                   `{"level":"debug" {"level":"info" {"level":"warn" {"level":"error"`,
	} {
		t.Setenv("JOURNAL_STREAM", stream)
		musttest.Do(t, f.Truncate(0))
		musttest.Get(f.Seek(0, 0))(t)
		log, _ := newDaemonLog(f, config.Log{Level: "debug", Format: "auto"})
		log.Debug("one")
		log = log.With(zap.Int("n", 1))
		log.Info("two")
		log.Warn("three")
		log.Error("four")
		b := musttest.Get(os.ReadFile(f.Name()))(t)
		var got []string
		for line := range strings.Lines(string(b)) {
			got = append(got, line[:strings.Index(line, ",")])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("JOURNAL_STREAM=%s: got %s", stream, got)
		}
	}
}
