package terminal_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/protocoltest"
)

func TestTheLastPrintedLineIsShownOnTheBoard(t *testing.T) {
	for name, c := range map[string]struct {
		output []string // with pauses of five seconds between the parts
		want   []string
	}{
		"a line":                   {[]string{"one\ntwo\n"}, []string{"`two`"}},
		"a progress bar":           {[]string{"10%\r20%\r"}, []string{"`20%`"}},
		"a bar that clears itself": {[]string{"10%\r\x1b[K20%\r\x1b[K\r"}, []string{"`20%`"}},
		"a line without an end":    {[]string{"one\nPassword: "}, []string{"`Password:`"}},
		"colours":                  {[]string{"\x1b[1;32mok\x1b[0m `x`\n"}, []string{"`` ok `x` ``"}},
		"CRLF":                     {[]string{"one\r\ntwo\r\n\r\n"}, []string{"`two`"}},
		"nothing":                  {[]string{"", "\n \r\n"}, nil},
		"one after the other":      {[]string{"a", "b\n", "\n", "c\n"}, []string{"`a`", "`ab`", "`c`"}},
		"the same again":           {[]string{"a\n", "a\n"}, []string{"`a`"}},
		"much":                     {[]string{strings.Repeat("x\n", 100_000) + "end\n"}, []string{"`end`"}},
		"a long line":              {[]string{strings.Repeat("ä", 100_000)}, []string{"`" + strings.Repeat("ä", 160) + "…`"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				last := terminal.NewLastLine()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var got []string
				go last.Run(ctx, func(f terminal.Frame) error {
					if f.Kind != terminal.Progress || !f.Board || f.Step != 0 || f.Fold != nil {
						t.Errorf("emitted %+v", f)
					}
					got = append(got, strings.ReplaceAll(f.Text, "\uFFFD", ""))
					return nil
				})
				for _, part := range c.output {
					_, _ = last.Write([]byte(part))
					time.Sleep(5 * time.Second)
				}
				synctest.Wait()
				wanttest.EqualSlices(t, "got", got, c.want)
			})
		})
	}
}

func TestManyLinesAreShownNoFasterThanOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := terminal.NewLastLine()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var shown atomic.Int64
		go last.Run(ctx, func(terminal.Frame) error { shown.Add(1); return nil })
		for i := range 10_000 { // ten seconds
			_, _ = last.Write([]byte(time.Duration(i).String() + "\n"))
			time.Sleep(time.Millisecond)
		}
		if n := shown.Load(); n < 7 || n > 9 {
			t.Errorf("%d in ten seconds, of which two are silent", n)
		}
	})
}

func TestAPlainAgentShowsItsLastLineAndItsResponseStaysTheSame(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	b := newTurnFixture(t, "plain", "printf 'start\\n10%%\\r20%%\\r'; while ! [ -e "+seen+" ]; do sleep 0.05; done; printf 'end'")
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	var boards, messages []string
	out, err := r.Turn(t.Context(), b.req, protocoltest.Frames(func(f terminal.Frame) error {
		switch {
		case f.Kind == terminal.Progress && f.Board && f.Preview:
			boards = append(boards, f.Text)
			return os.WriteFile(seen, nil, 0o600)
		default:
			messages = append(messages, f.Text)
		}
		return nil
	}))
	if err != nil || out.Status != terminal.Done || boards[0] != "`20%`" || !slices.Equal(messages, []string{"start\nend"}) {
		t.Errorf("%v %v: boards %q, messages %q", out, err, boards, messages)
	}
}
