package process

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// ReportFD is the descriptor of a helper's pipe for ReportExecError. The helper must set its
// close-on-exec flag.
const ReportFD = 3

// ReportExecError tells the parent of a helper which system error kept the helper from executing
// its program. Other errors are not reported: the helper writes them to stderr.
func ReportExecError(w io.Writer, err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		_, _ = io.WriteString(w, strconv.Itoa(int(errno)))
	}
}

// readExecError returns the error that a helper reported, and closes the pipe. A nil file means
// that the child was no helper.
func readExecError(f *os.File) error {
	if f == nil {
		return nil
	}
	defer f.Close()
	told, err := io.ReadAll(io.LimitReader(f, 16))
	n, convErr := strconv.Atoi(string(told))
	if err != nil || convErr != nil || n <= 0 {
		return nil // it executed its program, which closed the pipe
	}
	return syscall.Errno(n)
}
