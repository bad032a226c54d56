package cassette

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// The largest cassette and the longest line that are read, in bytes. A line has at most what an
// agent prints in one (16 MiB by default), in JSON.
const (
	maxCassette = 256 << 20
	maxLine     = 64 << 20
)

// Cassette is a cassette that was read.
type Cassette struct {
	Path   string // "": it has no files
	Header Header
	Lines  []Line // of all attempts at the message
	// Cut says that the last line is incomplete, because the recording was cut off.
	Cut bool
}

// Read reads the cassette at a path. Its error has the line.
func Read(path string) (*Cassette, error) {
	f, err := openRegular(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(path, f)
}

// openRegular opens a regular file. A FIFO would block, and never end.
func openRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err)
	}
	return f, nil
}

// Parse reads the cassette of a path.
func Parse(path string, from io.Reader) (*Cassette, error) {
	c := &Cassette{Path: path}
	limited := &io.LimitedReader{R: from, N: maxCassette + 1}
	lines := bufio.NewReaderSize(limited, 64<<10)
	asked := map[int]bool{}
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if err == nil && limited.N == 0 {
			err = fmt.Errorf("the cassette is larger than %d MiB", maxCassette>>20)
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if ended && len(line) == 0 {
			break
		}
		err = c.addLine(number, line, asked)
		if ended && err != nil && !json.Valid(line) && number > 1 {
			c.Cut = true
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if ended {
			break
		}
	}
	if c.Header.Type == "" {
		return nil, fmt.Errorf("%s:1: it is empty; the first line must be a cassette line", path)
	}
	return c, nil
}

// readLine returns the next line without its end. The last one comes with io.EOF.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("the line is longer than %d MiB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

func (c *Cassette) addLine(number int, line []byte, asked map[int]bool) error {
	if number == 1 {
		if err := json.Unmarshal(line, &c.Header); err != nil {
			return fmt.Errorf("it is no cassette: %w", err)
		}
		switch {
		case c.Header.Type != TypeCassette:
			return errors.New(`it is no cassette: the first line must have "type":"cassette"`)
		case c.Header.Version != Version:
			return fmt.Errorf("version %d is unknown; this program reads version %d", c.Header.Version, Version)
		}
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var l Line
	if err := json.Unmarshal(line, &l); err != nil {
		return fmt.Errorf("it is no line of a cassette: %w", err)
	}
	if err := l.check(asked); err != nil {
		return err
	}
	c.Lines = append(c.Lines, l)
	return nil
}

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// check returns what is wrong with a line. asked has the numbers of the questions before it.
func (l *Line) check(asked map[int]bool) error {
	has, ok := map[Type]bool{
		TypeEnvelope: l.Envelope != nil, TypeFrame: l.Frame != nil && l.Frame.Type != "", TypeAsk: l.Ask != nil,
		TypeAnswer: l.Answer != nil, TypeInject: l.Inject != nil, TypeSend: l.Send != nil, TypeReceipt: l.Receipt != nil,
		TypeExit: l.Exit != nil,
	}[l.Type]
	switch {
	case !ok:
		return fmt.Errorf("type %.40q is unknown", l.Type)
	case !has:
		return fmt.Errorf("a line of type %s needs a %q with its content", l.Type, l.Type)
	case l.Type == TypeInject && l.Inject.Text == "" && len(l.Inject.Media) == 0:
		return errors.New("an inject needs a text or media")
	case l.Type == TypeAnswer && !asked[l.Answer.Number]:
		return fmt.Errorf("there is no question %d before its answer", l.Answer.Number)
	case l.Type == TypeAsk:
		asked[l.Ask.Number] = true
	}
	for _, f := range l.Files {
		if f.SHA256 != "" && !hash.MatchString(f.SHA256) {
			return fmt.Errorf("sha256 of %.80q must be 64 hexadecimal digits in lower case (got %.80q)", f.Path, f.SHA256)
		}
	}
	return nil
}

// Attempt returns the lines of the last attempt at the message, which begin with its envelope.
func (c *Cassette) Attempt() ([]Line, error) {
	for i := len(c.Lines) - 1; i >= 0; i-- {
		if c.Lines[i].Type == TypeEnvelope {
			return c.Lines[i:], nil
		}
	}
	return nil, fmt.Errorf("%s has no envelope", c.Path)
}

// CopyFile copies a file of the cassette into a folder, under its own name, and returns the path.
func (c *Cassette) CopyFile(f File, dir string) (path string, err error) {
	from := f.Path
	if f.SHA256 != "" {
		from = filepath.Join(FilesDir(c.Path), f.SHA256)
	}
	content, err := readRegular(from)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("a recorded file is missing: copy %s from where the turn was recorded to %s", f.Path, from)
	}
	if err != nil {
		return "", fmt.Errorf("file %s: %w", f.Path, err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	if f.SHA256 != "" && sum != f.SHA256 {
		return "", fmt.Errorf("%s is not the file %s that was recorded: its content has another hash", from, f.Path)
	}
	own := filepath.Join(dir, "cassette", sum[:16]) // two files may have one name
	if err := os.MkdirAll(own, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(own, filepath.Base(f.Path))
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(content)) {
		return path, nil // it is played again, and may be open
	}
	return path, os.WriteFile(path, content, 0o600)
}

func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(content) > MaxFile {
		err = fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	return content, err
}
