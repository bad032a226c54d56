package peersocket_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/peersocket"
)

func TestFilesArePassedWithALineAndNoneStaysOpen(t *testing.T) {
	l := listen(t)
	before := openFiles(t)
	client := musttest.Get(peersocket.Dial(t.Context(), l.Path()))(t)
	server := musttest.Get(l.Accept())(t)
	path := filepath.Join(t.TempDir(), "a")
	musttest.Do(t, os.WriteFile(path, []byte("content"), 0o600))
	for _, c := range []struct {
		files int
		line  string
		want  error
	}{{2, strings.Repeat("x", 200<<10), nil}, {3, "three", peersocket.ErrTooManyFiles}, {1, strings.Repeat("x", 300<<10), peersocket.ErrLineTooLong}} {
		var files []*os.File
		for range c.files {
			files = append(files, musttest.Get(os.Open(path))(t))
		}
		sent := make(chan error, 1)
		go func() { sent <- peersocket.WriteWithFiles(client, []byte(c.line+"\n"), files) }()
		line, passed, err := peersocket.ReadLine(server.UnixConn, 250<<10, 2)
		if !errors.Is(err, c.want) || err == nil && (string(line) != c.line || len(passed) != c.files) {
			t.Errorf("%d files: %d bytes, %d files, %v", c.files, len(line), len(passed), err)
		}
		for _, f := range passed.Files(func(int) string { return "name" }) {
			if b, err := io.ReadAll(io.NewSectionReader(f, 0, 100)); err != nil || string(b) != "content" || f.Name() != "name" {
				t.Errorf("the file %s has %q, %v", f.Name(), b, err)
			}
			_ = f.Close()
		}
		if c.want != nil {
			_ = server.Close() // the rest of the line is not read
			_ = client.Close()
		}
		<-sent
		for _, f := range files {
			_ = f.Close()
		}
		if c.want != nil {
			client = musttest.Get(peersocket.Dial(t.Context(), l.Path()))(t)
			server = musttest.Get(l.Accept())(t)
		}
	}
	_, _ = client.Close(), server.Close()
	if after := openFiles(t); after != before {
		t.Errorf("%d files are open, and %d were before", after, before)
	}
}
