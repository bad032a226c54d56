package audit_test

import (
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/gateway/audit"
	"nanobot/internal/musttest"
)

// TestAFullDiskLeavesNoHalfLine lets files grow no further than in the midst of a line, as a full
// disk does.
func TestAFullDiskLeavesNoHalfLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var said []error
	l := open(t, audit.Options{Path: path, Failed: func(err error) { said = append(said, err) }})
	l.Write(audit.Record{Run: 1})
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	musttest.Do(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	musttest.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 500, Max: before.Max}))
	for i := range 3 {
		l.Write(audit.Record{Run: int64(2 + i), Message: strings.Repeat("x", 600)})
	}
	musttest.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	l.Write(audit.Record{Run: 5})
	all := read(t, path)
	if len(all) != 3 || all[0].Run != 1 || all[1].Event != audit.Lost || all[1].Count != 3 || all[2].Run != 5 {
		t.Errorf("it has %+v", all)
	}
	if len(said) != 1 {
		t.Errorf("said is %v", said)
	}
}
