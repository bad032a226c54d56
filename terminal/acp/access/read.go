package access

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unicode/utf8"

	"nanobot/internal/words"
	"nanobot/terminal/acp/rpc"
)

// maxRead limits the result of one call, which becomes one line of the protocol.
const maxRead = 8 << 20

var errTooMuch = fmt.Errorf("more than %d MiB; read a part of it with line and limit", maxRead>>20)

// readFile implements fs/read_text_file.
func (s *Session) readFile(ctx context.Context, turn *Turn, params json.RawMessage) (any, *rpc.Error) {
	var ask struct {
		Path  string                `json:"path"`
		Line  rpc.Optional[float64] `json:"line"` // JavaScript sends floating-point numbers
		Limit rpc.Optional[float64] `json:"limit"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, rpc.InvalidParams("%s", err)
	}
	at, rerr := resolvePermittedFile(s.envFor(ask.Path), ask.Path, func(at *agentFile) *rpc.Error {
		return s.checkPermission(ctx, turn, newFileCall("read", words.WantsRead, ask.Path, at))
	})
	if rerr != nil {
		return nil, rerr
	}
	defer at.close()
	text, err := at.read(intOr(ask.Line, 1), intOr(ask.Limit, -1))
	if err != nil {
		return nil, fileError(ask.Path, err)
	}
	return map[string]string{"content": text}, nil
}

// intOr returns a number without its fraction and limited to what JSON can represent exactly, or
// the default if it is not set.
func intOr(n rpc.Optional[float64], otherwise int64) int64 {
	if !n.OK {
		return otherwise
	}
	return int64(min(max(n.V, 0), 1<<53))
}

// content returns the whole text of the file.
func (a *agentFile) content() (string, error) { return a.read(1, -1) }

// read returns lines of the file, as readLines does. It fails for files that are not UTF-8: with
// replacement characters the agent would write back another text than it read.
func (a *agentFile) read(first, limit int64) (string, error) {
	f, err := a.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readLines(f, first, limit)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("not a text file in UTF-8")
	}
	return string(text), err
}

// open opens a regular file. O_NONBLOCK keeps a FIFO from blocking it.
func (a *agentFile) open() (*os.File, error) {
	f, err := a.root.OpenFile(a.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := a.checkReadable(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// checkReadable refuses files that are not regular, and hard links to private files.
func (a *agentFile) checkReadable(f *os.File) error {
	if err := checkRegular(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return a.guard.CheckFile(info)
}

func checkRegular(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("a folder, not a file")
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	}
	return nil
}

// readLines returns up to limit lines starting with line number first, counted from 1; a negative
// limit means all. It returns nothing for lines after the end.
func readLines(r io.Reader, first, limit int64) ([]byte, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for line := int64(1); line < first; {
		part, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case part[len(part)-1] == '\n':
			line++
		}
	}
	var text []byte
	for limit != 0 {
		part, err := in.ReadSlice('\n')
		if text = append(text, part...); len(text) > maxRead {
			return nil, errTooMuch
		}
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case limit > 0 && part[len(part)-1] == '\n':
			limit--
		}
	}
	return text, nil
}
