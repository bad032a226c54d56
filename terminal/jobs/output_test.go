package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"nanobot/internal/musttest"
	"nanobot/terminal/jobs"
)

func TestBothOutputsComeInTheOrderOfWriting(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i+1, i+1)
	}
	text, _ := s.runToEnd(jobs.Command{Line: "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo out $i; echo err $i >&2; done"})
	if text != want.String() {
		t.Fatalf("got %q", text)
	}
}

// newGate creates a FIFO on which a script waits until open is called.
func (s session) newGate(name string) (open func()) {
	file := filepath.Join(s.dir, name)
	musttest.Do(s.t, syscall.Mkfifo(file, 0o600))
	return func() {
		musttest.Do(s.t, os.WriteFile(file, []byte("go\n"), 0o600))
	}
}

func TestOutputCanBeReadWhileItRuns(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	open := s.newGate("go")
	id := s.startScript("echo first; read -r x < go; echo second; exit 5")
	s.awaitText(id, func(text string) bool { return text == "first\n" })
	if o := s.output(id); o.Exit != nil || o.Truncated {
		t.Fatalf("while it runs: %+v", o)
	}
	open()
	if e := s.wait(id); formatExit(e) != "code 5" {
		t.Fatal(formatExit(e))
	}
	for range 2 { // reading does not use it up
		if o := s.output(id); o.Text != "first\nsecond\n" || o.Exit == nil || formatExit(*o.Exit) != "code 5" || o.Truncated {
			t.Fatalf("at the end: %+v", o)
		}
	}
}

func TestTheLimitCountsBytesAndCutsNoCharacter(t *testing.T) {
	s := newSession(t, jobs.Limits{Output: 20})
	for _, tc := range []struct {
		print string // as printf's format
		keep  int    // -1: not given
		want  string
		cut   bool
	}{
		{"abcdef", -1, "abcdef", false},
		{"abcdef", 6, "abcdef", false},
		{"abcdef", 5, "bcdef", true},
		{"abcdef", 0, "", true},
		{"", 0, "", false},
		{"01234567890123456789", -1, "01234567890123456789", false},
		{"x01234567890123456789", -1, "01234567890123456789", true},
		{"x01234567890123456789", 1000, "01234567890123456789", true}, // the session's limit
		{"aé€😀", 10, "aé€😀", false},
		{"aé€😀", 9, "é€😀", true},
		{"aé€😀", 8, "€😀", true},
		{"aé€😀", 7, "€😀", true},
		{"aé€😀", 6, "😀", true},
		{"aé€😀", 3, "", true},
		{"a\\377b", 5, "a\ufffdb", false},
		{"a\\377b", 4, "\ufffdb", true},
		{"a\\377b", 3, "b", true},
		{"\\377\\377\\377", 8, "\ufffd\ufffd", true},
		{"end \\342\\202", -1, "end \ufffd\ufffd", false}, // never completed
		{"\\342\\202€", -1, "\ufffd\ufffd€", false},
		{"\\000a\\033[0m", -1, "\x00a\x1b[0m", false},
	} {
		c := jobs.Command{Line: "printf", Args: []string{tc.print}, MaxOutput: &tc.keep}
		if tc.keep < 0 {
			c.MaxOutput = nil
		}
		id := s.create(c)
		s.wait(id)
		o := s.output(id)
		if o.Text != tc.want || o.Truncated != tc.cut {
			t.Errorf("%s, %d bytes: got %q, %v, want %q, %v", tc.print, tc.keep, o.Text, o.Truncated, tc.want, tc.cut)
		}
		musttest.Do(t, s.Release(testContext(t), id))
	}
}

func TestACharacterSplitAcrossWritesIsWhole(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	for _, keep := range []int{4, 1 << 10} {
		valve := fmt.Sprint("go", keep)
		open := s.newGate(valve)
		id := s.create(jobs.Command{
			Line: `printf 'ab\360\237\230'; printf 'up' > ` + valve + `up; read -r x < ` + valve + `; printf '\200'`, MaxOutput: &keep,
		})
		// The complete characters are shown. The incomplete one neither hides them nor appears as
		// another character.
		s.awaitText(id, func(text string) bool { return text == "ab" })
		open()
		s.wait(id)
		o, want := s.output(id), "ab😀"
		if keep == 4 {
			want = "😀"
		}
		if o.Text != want || o.Truncated != (keep == 4) {
			t.Errorf("%d: got %+v", keep, o)
		}
	}
}

func TestTruncatedStaysTrue(t *testing.T) {
	s := newSession(t, jobs.Limits{Output: 1000})
	open := s.newGate("go")
	id := s.startScript("seq 1 1000; read -r x < go; echo é")
	text := s.awaitText(id, func(text string) bool { return strings.HasSuffix(text, "1000\n") })
	if o := s.output(id); !o.Truncated || len(text) != 1000 {
		t.Fatalf("%d bytes: %v", len(text), o.Truncated)
	}
	open()
	s.wait(id)
	o := s.output(id)
	if !o.Truncated || len(o.Text) > 1000 || !strings.HasSuffix(o.Text, "1000\né\n") || !utf8.ValidString(o.Text) {
		t.Fatalf("%+v", o)
	}
}

func TestAfterTheExitAllOutputCanBeRead(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	for range 30 {
		id := s.create(jobs.Command{Line: "seq", Args: []string{"1", "10000"}})
		for {
			o := s.output(id)
			if o.Exit == nil {
				continue
			}
			if !strings.HasSuffix(o.Text, "\n10000\n") || len(o.Text) != 48894 {
				t.Fatalf("%d bytes at the exit", len(o.Text))
			}
			break
		}
		musttest.Do(t, s.Release(testContext(t), id))
	}
}

func TestAJobThatClosesItsOutputIsStillWaitedFor(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	open := s.newGate("go")
	id := s.startScript("echo bye; exec 1>&- 2>&-; read -r x < go; exit 4")
	s.awaitContains(id, "bye")
	if o := s.output(id); o.Exit != nil {
		t.Fatalf("%+v", o)
	}
	open()
	if e := s.wait(id); formatExit(e) != "code 4" {
		t.Fatal(formatExit(e))
	}
}
