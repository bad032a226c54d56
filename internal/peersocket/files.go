package peersocket

import (
	"bytes"
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
)

// The errors of ReadLine.
var (
	ErrLineTooLong  = errors.New("the line is too long")
	ErrTooManyFiles = errors.New("too many files were passed")
)

// WriteWithFiles writes bytes, and passes open files with the first of them.
func WriteWithFiles(conn *net.UnixConn, b []byte, files []*os.File) error {
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		_, _, err := conn.WriteMsgUnix(b[:1], syscall.UnixRights(fds...), nil)
		runtime.KeepAlive(files)
		if err != nil {
			return err
		}
		b = b[1:]
	}
	_, err := conn.Write(b)
	return err
}

// Descriptors are files that a peer has passed, of any type.
type Descriptors []int

// Close closes the files.
func (d Descriptors) Close() {
	for _, fd := range d {
		_ = syscall.Close(fd)
	}
}

// Files returns the files under names. The caller closes them instead of the descriptors.
func (d Descriptors) Files(name func(i int) string) []*os.File {
	files := make([]*os.File, len(d))
	for i, fd := range d {
		files[i] = os.NewFile(uintptr(fd), name(i))
	}
	return files
}

// ReadLine reads a line of at most maxBytes, and the files that were passed with it, which the
// caller closes. Bytes after the line are lost.
func ReadLine(conn *net.UnixConn, maxBytes, maxFiles int) (line []byte, passed Descriptors, err error) {
	defer func() {
		if err != nil {
			passed.Close()
			passed = nil
		}
	}()
	b, control := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(4*maxFiles))
	for {
		n, cn, flags, _, err := conn.ReadMsgUnix(b, control)
		passed = append(passed, parseDescriptors(control[:cn])...)
		switch {
		case err != nil:
			return nil, passed, err
		case flags&syscall.MSG_CTRUNC != 0 || len(passed) > maxFiles:
			return nil, passed, ErrTooManyFiles
		}
		line = append(line, b[:n]...)
		if end := bytes.IndexByte(line, '\n'); end >= 0 && end <= maxBytes {
			return line[:end], passed, nil
		}
		if len(line) > maxBytes {
			return nil, passed, ErrLineTooLong
		}
	}
}

// parseDescriptors returns the descriptors of control messages.
func parseDescriptors(control []byte) (all Descriptors) {
	messages, _ := syscall.ParseSocketControlMessage(control) // the kernel has made them
	for _, m := range messages {
		fds, _ := syscall.ParseUnixRights(&m) // an error means that this message has none
		all = append(all, fds...)
	}
	return all
}
