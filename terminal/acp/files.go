package acp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"

	"nanobot/terminal"
)

// maxRead is the most that one reading returns: it becomes one line of the protocol.
const maxRead = 8 << 20

var errTooMuch = fmt.Errorf("more than %d MiB; read a part of it with line and limit", maxRead>>20)

// readFile answers fs/read_text_file, if permit does not refuse the call; nil permits all.
func readFile(p terminal.ExecEnv, params json.RawMessage, permit func(ownCall) *rpcError) (any, *rpcError) {
	var ask struct {
		Path  string         `json:"path"`
		Line  maybe[float64] `json:"line"` // numbers of some languages have a fraction
		Limit maybe[float64] `json:"limit"`
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, invalid("%s", err)
	}
	var allow func(*spot) *rpcError
	if permit != nil {
		allow = func(at *spot) *rpcError {
			return permit(fileCall("read", "The agent wants to read a file", ask.Path, at))
		}
	}
	at, rerr := permitted(p, ask.Path, allow)
	if rerr != nil {
		return nil, rerr
	}
	defer at.close()
	f, err := at.open()
	if err != nil {
		return nil, fileError(ask.Path, err)
	}
	defer f.Close()
	text, err := readLines(f, whole(ask.Line, 1), whole(ask.Limit, -1))
	if err != nil {
		return nil, fileError(ask.Path, err)
	}
	if !utf8.Valid(text) {
		// With another character in its place the agent would write back what was never there.
		return nil, fileError(ask.Path, errors.New("not a text file in UTF-8"))
	}
	return map[string]string{"content": string(text)}, nil
}

// whole returns a number that counts something.
func whole(n maybe[float64], otherwise int64) int64 {
	if !n.ok {
		return otherwise
	}
	return int64(min(max(n.v, 0), 1<<53))
}

// errNoFile says that a file does not exist.
var errNoFile = errors.New("no such file")

// content returns the text of a file, if it is one and not too large.
func (s *spot) content() (string, error) {
	f, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoFile
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := readLines(f, 1, -1)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("not a text file in UTF-8")
	}
	return string(text), err
}

// open opens a regular file, and waits for nobody.
func (s *spot) open() (*os.File, error) {
	f, err := s.root.OpenFile(s.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := s.readable(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readable refuses what is no regular file, and one of which another name is out of bounds.
func (s *spot) readable(f *os.File) error {
	if err := regular(f); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return s.guard.CheckFile(info)
}

func regular(f *os.File) error {
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

// readLines returns the lines from the first on, counted from 1, with their ends; a negative limit
// means all. What is behind the end is empty.
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
