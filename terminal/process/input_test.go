package process_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
)

// startOpen runs a shell script whose stdin stays open.
func startOpen(t *testing.T, script string, input []byte) *process.Child {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{
		Args: []string{"/bin/sh", "-c", script}, Input: input, KeepInput: true, Grace: 300 * time.Millisecond,
	}))(t)
	t.Cleanup(func() { c.Kill(); c.Wait() })
	return c
}

// awaitWord reads the word that the child prints when it is ready.
func awaitWord(t *testing.T, c *process.Child, word string) {
	t.Helper()
	got := make([]byte, len(word)+1)
	if _, err := io.ReadFull(c.Stdout, got); err != nil || string(got) != word+"\n" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestWritesFollowTheInputInOrder(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	c := startOpen(t, "cat", big)
	want := string(big)
	read := make(chan string)
	go func() {
		b, _ := io.ReadAll(c.Stdout)
		read <- string(b)
	}()
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		if n, err := c.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("line %d: %d, %v", i, n, err)
		}
		want += line
	}
	c.CloseInput()
	if got := <-read; got != want {
		t.Fatalf("got %d bytes, want %d", len(got), len(want))
	}
	if e := c.Wait(); !e.OK() {
		t.Fatalf("exit %+v", e)
	}
}

func TestLinesOfManyWritersStayWhole(t *testing.T) {
	c := startOpen(t, "cat", nil)
	const writers, each = 16, 50
	pad := strings.Repeat("x", 5000) // more than a pipe writes at once
	var g sync.WaitGroup
	for w := range writers {
		g.Go(func() {
			for i := range each {
				if _, err := fmt.Fprintf(c, "%d %d %s\n", w, i, pad); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Go(func() {
		next, lines := map[int]int{}, bufio.NewScanner(c.Stdout)
		for range writers * each {
			w, i, rest := 0, 0, ""
			if !lines.Scan() {
				t.Error("lines are missing")
				return
			}
			_, err := fmt.Sscanf(lines.Text(), "%d %d %s", &w, &i, &rest)
			if err != nil || rest != pad || i != next[w] {
				t.Errorf("line %d of writer %d, want %d; %v", i, w, next[w], err)
			}
			next[w]++
		}
	})
	g.Wait()
	c.CloseInput()
	readAll(t, c)
	c.Wait()
}

func TestClosingTheInputLosesNothing(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	c := startOpen(t, "cat", big)
	c.CloseInput()
	c.CloseInput()
	if got := readAll(t, c); got != string(big) {
		t.Fatalf("got %d bytes, want %d", len(got), len(big))
	}
	c.Wait()
}

func TestClosingTheInputWaitsForAWriteInProgress(t *testing.T) {
	c := startOpen(t, "head -c 1 >/dev/null; echo up; wc -c", nil)
	written := make(chan error)
	go func() {
		_, err := c.Write(make([]byte, 1<<20))
		written <- err
	}()
	awaitWord(t, c, "up") // the first byte has arrived, and the rest does not fit into a pipe
	c.CloseInput()
	if got := readAll(t, c); strings.TrimSpace(got) != "1048575" {
		t.Fatalf("got %q", got)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	c.Wait()
}

func TestAWriteToAChildThatDoesNotReadEndsWithTheChild(t *testing.T) {
	for name, script := range map[string]string{
		"sleeps":                        "echo up; exec sleep 300",
		"never reads its input either":  "echo up; exec sleep 300",
		"exits by itself":               "echo up; exit 0",
		"a grandchild holds the input":  "exec 3<&0; sleep 300 <&3 >/dev/null 2>&1 & echo up; exit 0",
		"closes its input and lives on": "exec 0<&-; echo up; exec sleep 300",
	} {
		var input []byte
		if strings.HasPrefix(name, "never") {
			input = make([]byte, 1<<20)
		}
		c := startOpen(t, script, input)
		failed := make(chan error, 4)
		for range cap(failed) {
			go func() {
				_, err := c.Write(make([]byte, 1<<20))
				failed <- err
			}()
		}
		awaitWord(t, c, "up")
		if strings.Contains(script, "exec sleep") {
			c.Kill()
		}
		readAll(t, c)
		c.Wait()
		for range cap(failed) {
			if err := <-failed; err == nil {
				t.Errorf("%s: the write claims to have succeeded", name)
			}
		}
	}
}

func TestAChildThatReadsToTheEndIsEndedByKill(t *testing.T) {
	c := startOpen(t, "echo up; cat", []byte("first\n"))
	awaitWord(t, c, "up")
	awaitWord(t, c, "first")
	c.Kill()
	if rest := readAll(t, c); rest != "" {
		t.Fatalf("got %q", rest)
	}
	if e := c.Wait(); e.Signal != "SIGKILL" {
		t.Fatalf("exit %+v", e)
	}
}

func TestAClosedInputAcceptsNoWrites(t *testing.T) {
	closed := startOpen(t, "cat", nil)
	closed.CloseInput()
	once := startScript(t, "cat")
	over := startOpen(t, "exit 0", nil)
	readAll(t, over)
	over.Wait()
	over.CloseInput()
	for name, c := range map[string]*process.Child{"closed": closed, "not kept": once, "over": over} {
		if n, err := c.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		c.Kill()
		c.Wait()
	}
}

func TestUnreadInputIsCounted(t *testing.T) {
	c := startOpen(t, "read -r one; read -r two; exit 0", []byte("one\n"))
	musttest.Get(c.Write([]byte("two\nthree\n")))(t)
	readAll(t, c)
	if e := c.Wait(); e.Unread != len("three\n") {
		t.Fatalf("%d bytes unread", e.Unread)
	}
}

func TestManyOpenInputsLeaveNoFile(t *testing.T) {
	before := openFiles(t)
	for range 100 {
		c := startOpen(t, "echo out; exit 0", []byte("in\n"))
		_, _ = c.Write([]byte("more\n"))
		readAll(t, c)
		c.Wait()
	}
	if after := openFiles(t); after > before {
		t.Fatalf("%d files open, %d before", after, before)
	}
}
