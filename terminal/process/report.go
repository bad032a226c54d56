package process

import (
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// ReportFD is the descriptor of a helper's pipe for Report. The helper must close it when it
// becomes its program.
const ReportFD = 3

// Report tells the parent of a helper which system error has kept it from becoming its program. An
// error of another kind is not told: the helper writes it to stderr.
func Report(w io.Writer, err error) {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		_, _ = io.WriteString(w, strconv.Itoa(int(errno)))
	}
}

// readReport returns what a helper that has exited told by Report, and closes the pipe. A nil file
// is no helper's.
func readReport(f *os.File) error {
	if f == nil {
		return nil
	}
	defer f.Close()
	told, err := io.ReadAll(io.LimitReader(f, 16))
	n, convErr := strconv.Atoi(string(told))
	if err != nil || convErr != nil || n <= 0 {
		return nil // it became its program, which has no such pipe
	}
	return syscall.Errno(n)
}
