//go:build !linux

package process

import "os"

func newPipe(bool) (r, w *os.File, err error) { return os.Pipe() }

// filledPipe returns the read end of a pipe that contains the input and whose write end is closed.
// The input fits, so that no write blocks.
func filledPipe(input []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(input); err != nil {
		closeFiles(r, w)
		return nil, err
	}
	return r, w.Close()
}
