package process_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

// startDelayed starts a script that gets its input later.
func startDelayed(t *testing.T, script string) *process.Child {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{Args: []string{"/bin/sh", "-c", script}, DelayInput: true, StderrTail: 1 << 10, Grace: time.Second}))(t)
	t.Cleanup(func() {
		c.Kill()
		c.Wait()
	})
	return c
}

func TestInputCanFollowTheStart(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 1<<20)
	for name, input := range map[string]string{"small": "hello", "larger than the pipe": large} {
		c := startDelayed(t, `cat`)
		if !c.Untouched() {
			t.Errorf("%s: the child counts as touched", name)
		}
		c.SetInput([]byte(input), false)
		if got := readAll(t, c); got != input {
			t.Errorf("%s: got %d bytes", name, len(got))
		}
		if e := c.Wait(); !e.OK() || e.Unread != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
	c := startDelayed(t, `read a; read b; echo "$a $b"`)
	c.SetInput([]byte("one\n"), true)
	musttest.Get(c.Write([]byte("two\n")))(t)
	wanttest.Equal(t, "got", readAll(t, c), "one two\n")
}

func TestInputThatADeadChildLeftIsCounted(t *testing.T) {
	t.Parallel()
	for name, input := range map[string][]byte{"small": []byte("hello\n"), "larger than the pipe": bytes.Repeat([]byte("x"), 1<<20)} {
		c := startDelayed(t, `exit 3`)
		for c.Untouched() {
			time.Sleep(time.Millisecond)
		}
		c.SetInput(input, false)
		readAll(t, c)
		if e := c.Wait(); e.Unread != len(input) || e.Code != 3 {
			t.Errorf("%s: %d bytes were left, and the exit code is %d", name, e.Unread, e.Code)
		}
	}
}

func TestOutputBeforeTheInputTouchesAChild(t *testing.T) {
	t.Parallel()
	for _, script := range []string{`echo hello; cat`, `echo hello >&2; cat`} {
		c := startDelayed(t, script)
		for deadline := time.Now().Add(5 * time.Minute); c.Untouched(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: the child never counts as touched", script)
			}
		}
	}
}
