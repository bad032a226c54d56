package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is the kind of namespaces in which agents run.
type namespace int

const (
	noNamespace    namespace = iota
	mountNamespace           // for root
	userNamespace            // with a mount namespace in it, for everybody else
)

// cloneFlags returns the flags for clone(2). The IPC namespace separates the shared memory and
// message queues of chats.
func (n namespace) cloneFlags() uintptr {
	switch n {
	case mountNamespace:
		return unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	case userNamespace:
		return unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	default:
		return 0
	}
}

// ambientCapabilities returns the capabilities that the helper needs in its user namespace to write
// its ID maps and make mounts. Without them, execve would drop all capabilities, because the
// helper's user is not mapped yet.
func (n namespace) ambientCapabilities() []uintptr {
	if n != userNamespace {
		return nil
	}
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
}

// idMap returns the identity mapping of our user and group for a user namespace.
func (n namespace) idMap() *syscall.Credential {
	if n != userNamespace {
		return nil
	}
	return &syscall.Credential{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
}

// findNamespace returns the kind of namespace that works on this machine, or the reason why none
// does.
func (s *Sandbox) findNamespace() (namespace, string) {
	kind := userNamespace
	if os.Geteuid() == 0 {
		kind = mountNamespace
	}
	if err := namespaceProbes[kind](); err != nil {
		return noNamespace, err.Error()
	}
	return kind, ""
}

// namespaceProbes tries each kind once, since the permissions of the kernel do not change while we
// run.
var namespaceProbes = map[namespace]func() error{
	mountNamespace: sync.OnceValue(func() error { return probeNamespace(mountNamespace) }),
	userNamespace:  sync.OnceValue(func() error { return probeNamespace(userNamespace) }),
}

// probeNamespace runs the helper with mounts like those for an agent.
func probeNamespace(kind namespace) error {
	p := helperPlan{Probe: true, Mounts: &mounts{Map: kind.idMap(), Hide: []string{"/etc"}, ReadOnly: []string{"/usr"}}}
	var out, said bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, ownExecutable)
	cmd.Args, cmd.Dir, cmd.Env = []string{"nanobot", Command, "-plan=" + p.String(), "--", "true"}, "/", []string{}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: kind.cloneFlags(), AmbientCaps: kind.ambientCapabilities(),
		Pdeathsig: syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.String() == probeOutput:
		return nil
	case err != nil && !errors.As(err, &exit):
		return errors.Unwrap(err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said.String()), "nanobot: "), "\n")
	return errors.New(line)
}

// probeTimeout bounds the probe in case that the kernel hangs, or that the executable is not a
// program that runs Main.
const probeTimeout = time.Minute

// probeOutput is printed by the helper after a successful probe.
const probeOutput = "ok"
