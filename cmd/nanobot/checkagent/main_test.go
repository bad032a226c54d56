package checkagent_test

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	status := m.Run()
	supervisor().Close()
	if err := goleak.Find(); status == 0 && err != nil {
		println(err.Error())
		status = 1
	}
	os.Exit(status)
}

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o600) }
