// Package postgrestest starts a private PostgreSQL server for the tests of a package.
package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a running server, which listens on a socket in a folder.
type Server struct {
	Dir    string // of its data and its socket
	cmd    *exec.Cmd
	exited chan struct{}
}

// shared is the server of a test's process.
var shared struct {
	once     sync.Once
	settings []string
	server   *Server
	err      error
}

// Fast are the settings of a server that does not survive a crash of its machine. It survives that
// of its processes, so tests of crashes can use them.
var Fast = []string{"fsync=off", "full_page_writes=off"}

// URL returns the URL of a server that the tests of a process share. Each test uses its own schema.
// If there is no PostgreSQL, the test is skipped.
func URL(t testing.TB) string {
	t.Helper()
	Require(t)
	shared.once.Do(func() { shared.server, shared.err = Start(shared.settings...) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.URL()
}

// Require skips a test if there is no PostgreSQL.
func Require(t testing.TB) {
	t.Helper()
	if _, err := program("postgres"); err != nil {
		t.Skip("PostgreSQL is not installed")
	}
}

// Main runs the tests of a package and stops the server that they share, which gets the settings.
func Main(m *testing.M, settings ...string) int {
	shared.settings = settings
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	return code
}

// URL returns the URL of the server.
func (s *Server) URL() string { return "postgres:///postgres?user=nanobot&host=" + s.Dir }

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, ".s.PGSQL.5432") }

// Start creates a database in a new folder and starts its server with more settings. The caller
// stops it.
func Start(settings ...string) (*Server, error) {
	return create(func(data string) error {
		return run("initdb", "-D", data, "-U", "nanobot", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	}, settings)
}

// StartStandby starts a server that follows this one. The caller stops it.
func (s *Server) StartStandby() (*Server, error) {
	return create(func(data string) error {
		return run("pg_basebackup", "-D", data, "-h", s.Dir, "-U", "nanobot", "-R", "-c", "fast", "--no-sync")
	}, nil)
}

// create creates the data of a server in a new folder, and starts the server.
func create(fill func(data string) error, settings []string) (*Server, error) {
	removeLeftovers()
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir}
	if _, err = unprivileged(dir); err == nil {
		err = fill(filepath.Join(dir, "data"))
	}
	if err == nil {
		err = s.Run(settings...)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

const prefix = "nanobot-pg"

// removeLeftovers removes the folders of servers whose tests were killed more than an hour ago.
func removeLeftovers() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range all {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "data", "postmaster.pid")); errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(dir)
		}
	}
}

// run runs one of the server's programs as the user of the server.
func run(name string, args ...string) error {
	path, err := program(name)
	if err != nil {
		return err
	}
	credential, err := unprivileged("")
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// Run starts the server of an existing folder, and waits until it accepts connections.
func (s *Server) Run(settings ...string) error {
	credential, err := unprivileged("")
	if err != nil {
		return err
	}
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	var log bytes.Buffer
	args := []string{"-D", filepath.Join(s.Dir, "data"), "-k", s.Dir}
	for _, setting := range append([]string{"listen_addresses=", "max_connections=200", "shared_buffers=32MB", "shared_preload_libraries=plpgsql"}, settings...) {
		args = append(args, "-c", setting)
	}
	s.cmd = exec.Command(postgres, args...)
	s.cmd.Stderr = &log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	dieWithParent(s.cmd.SysProcAttr)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func(exited chan<- struct{}) {
		_ = s.cmd.Wait()
		close(exited)
	}(s.exited)
	for deadline := time.Now().Add(readyTimeout); ; time.Sleep(20 * time.Millisecond) {
		pid, _ := os.ReadFile(filepath.Join(s.Dir, "data", "postmaster.pid"))
		if lines := strings.Split(string(pid), "\n"); len(lines) > 7 && (strings.TrimSpace(lines[7]) == "ready" || strings.TrimSpace(lines[7]) == "standby") {
			return nil
		}
		select {
		case <-s.exited:
		default:
			if time.Now().Before(deadline) {
				continue
			}
		}
		s.Stop()
		return fmt.Errorf("the server is not ready: %s", log.String())
	}
}

// readyTimeout is how long a start may take. Only a failing one takes that long.
const readyTimeout = 5 * time.Minute

// Stop stops the server and removes its folder.
func (s *Server) Stop() {
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}

// Kill ends the server at once, as a crash would. Run starts it again.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.exited
}

// unprivileged returns the user who runs the server, which refuses to run as root, and gives that
// user a folder, unless it is ""; nil: it is the user of this process.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // no other user is needed
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	err = errors.Join(err1, err2)
	if err == nil && dir != "" {
		err = errors.Join(os.Chown(dir, uid, gid), os.Chmod(dir, 0o755)) //nolint:gosec // others connect
	}
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil //nolint:gosec // IDs of the system
}

// program returns the path of one of the server's programs, the newest version first.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(all) == 0 {
		return "", fmt.Errorf("there is no %s", name)
	}
	slices.Sort(all)
	return all[len(all)-1], nil
}
