package packaging_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// imageConfig is what an image says about running it. The description of ours is image.json.
type imageConfig struct {
	User, WorkingDir     string
	Env, Entrypoint, Cmd []string
	Volumes              map[string]struct{}
	Labels               map[string]string
	Healthcheck          *struct {
		Test                           []string
		Interval, Timeout, StartPeriod int64
	} `json:",omitzero"`
}

func containerConfig(t *testing.T) imageConfig {
	t.Helper()
	var image struct{ Config imageConfig }
	musttest.Do(t, json.Unmarshal(musttest.Get(os.ReadFile("image.json"))(t), &image))
	return image.Config
}

func TestTheContainersHealthCheckRecognizesARunningDaemon(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is missing on this machine")
	}
	check := containerConfig(t).Healthcheck.Test[1:]
	healthy := func(address string) error {
		cmd := exec.Command(check[0], check[1:]...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NANOBOT_HTTP__LISTEN=" + address}
		return cmd.Run()
	}

	address, stop := startAsInContainer(t, containerEnviron(t, t.TempDir(), t.TempDir()))
	if err := healthy(address); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	stop()
	if err := healthy(address); err == nil {
		t.Error("healthy although it has ended")
	}
}

// containerEnviron returns the environment of the container, with other folders and another port,
// and writes a config.
func containerEnviron(t *testing.T, bot, state string) []string {
	t.Helper()
	config := `{"terminal": {"command": "cat"}, "channels": {"web": {"enabled": true}}}`
	musttest.Do(t, os.WriteFile(filepath.Join(bot, "config.json"), []byte(config), 0o600))
	inContainer := strings.NewReplacer("=/bot", "="+bot, "=/var/lib/nanobot", "="+state, ":8080", ":0")
	var environ []string
	for _, variable := range containerConfig(t).Env {
		environ = append(environ, inContainer.Replace(variable))
	}
	return append(environ, "PATH="+os.Getenv("PATH"))
}

// startAsInContainer runs the daemon with an environment.
func startAsInContainer(t *testing.T, environ []string) (address string, stop func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(unpack(t), "bin/nanobot"), "serve")
	cmd.Env = environ
	return startDaemon(t, cmd, func() { _ = cmd.Process.Signal(os.Interrupt) })
}

// startDaemon starts a command that runs the daemon, and waits until it listens.
func startDaemon(t *testing.T, cmd *exec.Cmd, signal func()) (address string, stop func()) {
	t.Helper()
	stderr := musttest.Get(cmd.StderrPipe())(t)
	musttest.Do(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	stop = func() {
		if cmd.ProcessState != nil {
			return
		}
		signal()
		for lines.Scan() { // to the end, so that nothing of it is blocked
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the daemon ended with %v", err)
		}
	}
	t.Cleanup(stop)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			return line.Address, stop
		}
	}
	t.Fatalf("the daemon does not listen:\n%s", strings.Join(said, "\n"))
	return "", nil
}
