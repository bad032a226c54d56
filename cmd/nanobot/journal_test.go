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
)

func TestEachLineInTheJournalHasItsPriority(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s := info.Sys().(*syscall.Stat_t)
	for stream, want := range map[string]string{
		fmt.Sprintf("%d:%d", s.Dev, s.Ino):   `<7>{"level":"debug" <6>{"level":"info" <4>{"level":"warn" <3>{"level":"error"`,
		fmt.Sprintf("%d:%d", s.Dev, s.Ino+1): `{"level":"debug" {"level":"info" {"level":"warn" {"level":"error"`, // somebody else's
		"":                                   `{"level":"debug" {"level":"info" {"level":"warn" {"level":"error"`,
	} {
		t.Setenv("JOURNAL_STREAM", stream)
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		log, _ := newDaemonLog(f, config.Log{Level: "debug", Format: "auto"})
		log.Debug("one")
		log = log.With(zap.Int("n", 1))
		log.Info("two")
		log.Warn("three")
		log.Error("four")
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(b)) {
			got = append(got, line[:strings.Index(line, ",")])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("JOURNAL_STREAM=%s: got %s", stream, got)
		}
	}
}
