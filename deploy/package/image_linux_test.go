package packaging_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// needsImage skips tests that take minutes, or that this machine cannot run.
func needsImage(t *testing.T) {
	t.Helper()
	if os.Getenv("NANOBOT_TEST_RELEASE") != "1" {
		t.Skip("takes minutes; NANOBOT_TEST_RELEASE=1 runs it")
	}
	for _, program := range []string{"mmdebstrap", "bwrap", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing on this machine", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root can unpack the files of other users")
	}
}

// container is an unpacked image.
type container struct {
	*testing.T
	root   string
	config imageConfig
}

// unpackImage unpacks the layers of an image, as Docker does when it makes a container.
func unpackImage(t *testing.T, i image) container {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{root, filepath.Dir(root)} { // also for the user of the container
		musttest.Do(t, os.Chmod(dir, 0o755))
	}
	for _, layer := range i.layers {
		tar := exec.Command("tar", "-xzf", "-", "--same-owner", "--numeric-owner", "-C", root)
		tar.Stdin = strings.NewReader(string(layer))
		if out, err := tar.CombinedOutput(); err != nil {
			t.Fatalf("unpack: %v\n%s", err, out)
		}
	}
	return container{t, root, i.config.Config}
}

// command returns a command that runs in the container: with a read-only root, as the image's user
// and with its environment.
func (c container) command(environ []string, args ...string) *exec.Cmd {
	c.Helper()
	wanttest.Equal(c.T, "the user is", c.config.User, "10001:10001")
	cmd := exec.Command("bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--as-pid-1",
		"--die-with-parent", "--ro-bind", c.root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", c.config.WorkingDir)
	for volume := range c.config.Volumes {
		cmd.Args = append(cmd.Args, "--bind", c.root+volume, volume)
	}
	cmd.Args = append(cmd.Args, "--bind", c.root+"/bot", "/bot", "--")
	cmd.Args = append(cmd.Args, args...)
	cmd.Env = append(append([]string{"HOME=/bot"}, c.config.Env...), environ...) // container engines set HOME
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 10001, Gid: 10001}}
	return cmd
}

// run runs a command in the container and returns its output.
func (c container) run(environ []string, args ...string) string {
	c.Helper()
	out, err := c.command(environ, args...).CombinedOutput()
	if err != nil {
		c.Errorf("%q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// putFile writes a file into the folder of the bot, as its owner.
func (c container) putFile(name string, content []byte) {
	c.Helper()
	path := filepath.Join(c.root, "bot", name)
	musttest.Do(c.T, os.WriteFile(path, content, 0o600))
	musttest.Do(c.T, os.Chown(path, 10001, 10001))
}

// start runs the image's entry point. To stop it, the process that is init in the container gets
// SIGTERM.
func (c container) start(environ []string) (address string, stop func()) {
	c.Helper()
	info, write, err := os.Pipe()
	musttest.Do(c.T, err)
	c.Cleanup(func() { _ = info.Close() })
	cmd := c.command(environ, append(c.config.Entrypoint, c.config.Cmd...)...)
	cmd.Args = append([]string{cmd.Args[0], "--info-fd", "3"}, cmd.Args[1:]...)
	cmd.ExtraFiles = []*os.File{write}
	address, stop = startDaemon(c.T, cmd, func() {
		var child struct {
			PID int `json:"child-pid"`
		}
		musttest.Do(c.T, json.NewDecoder(info).Decode(&child))
		musttest.Do(c.T, syscall.Kill(child.PID, syscall.SIGTERM))
	})
	_ = write.Close()
	return address, stop
}

const containerToken = "token-of-the-test-of-the-image"

// call makes an authorized request to the daemon.
func call(t *testing.T, method, url, body string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	request := musttest.Get(http.NewRequestWithContext(ctx, method, url, strings.NewReader(body)))(t)
	request.Header.Set("Authorization", "Bearer "+containerToken)
	request.Header.Set("Content-Type", "application/json")
	response := musttest.Get(http.DefaultClient.Do(request))(t)
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, url, response.Status)
	}
	return response
}

func TestTheImageAnswersOnAReadOnlyRoot(t *testing.T) {
	needsImage(t)
	binary := filepath.Join(unpack(t), "bin/nanobot")
	dockerPath, ociPath := buildImage(t, binary, runtime.GOARCH, "v1.2.3")
	docker, oci := readDockerImage(t, dockerPath), readOCIImage(t, ociPath)
	wanttest.Equal(t, "the image in the layout is called", oci.name, docker.name)
	c := unpackImage(t, docker)
	size := musttest.Get(exec.Command("du", "-sm", c.root).Output())(t)
	packed := musttest.Get(os.Stat(dockerPath))(t)
	t.Logf("packed %d MB, unpacked %s MB", packed.Size()>>20, strings.Fields(string(size))[0])

	c.putFile("config.json", []byte(`{
		"terminal": {"command": "python3 -c 'import time; print(\"Python in\", time.tzname[0])'"},
		"agents": {"node": {"command": "node -p '\"Node in \" + new Date().getTimezoneOffset()'"}},
		"routes": [{"match": {"chat": "web-node"}, "agent": "node"}],
		"channels": {"web": {"enabled": true}}, "http": {"token": "`+containerToken+`"}}`))
	wanttest.Equal(t, "the user is", c.run(nil, "id"), "uid=10001(nanobot) gid=10001(nanobot) groups=10001(nanobot)")
	wanttest.Equal(t, "written is", c.run(nil, "sh", "-c", "for d in / /etc /home /run /var/lib /bot /tmp /var/lib/nanobot; do "+
		"touch $d/file 2>/dev/null && echo $d; done; rm /bot/file /var/lib/nanobot/file"), "/bot\n/tmp\n/var/lib/nanobot")
	wanttest.Equal(t, "there are certificates:", c.run(nil, "python3", "-c",
		"import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)"), "True")

	address, stop := c.start([]string{"NANOBOT_HTTP__LISTEN=127.0.0.1:0", "TZ=Asia/Kathmandu"})
	events := bufio.NewScanner(call(t, "GET", "http://"+address+"/api/events", "").Body)
	for _, turn := range []struct{ chat, answer string }{{"web-python", "Python in +0545"}, {"web-node", "Node in -345"}} {
		call(t, "POST", "http://"+address+"/api/chats/"+turn.chat+"/messages", `{"text": "hello"}`)
		for !strings.Contains(events.Text(), turn.answer) {
			if !events.Scan() {
				t.Fatalf("the events end before the answer %q: %v", turn.answer, events.Err())
			}
		}
	}

	healthy := func() error {
		return c.command([]string{"NANOBOT_HTTP__LISTEN=" + address}, c.config.Healthcheck.Test[1:]...).Run()
	}
	if err := healthy(); err != nil {
		t.Errorf("the health check while it runs: %v", err)
	}
	stop() // fails the test if the status is not 0
	if healthy() == nil {
		t.Error("healthy although it has ended")
	}
	expectSameImage(t, dockerPath, ociPath, binary)
}
