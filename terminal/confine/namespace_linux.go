package confine

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

// namespace is what an agent can be given of its own.
type namespace int

const (
	noNamespace    namespace = iota
	mountNamespace           // for root
	userNamespace            // with a mount namespace in it, for everybody else
)

// flags are for clone(2). Shared memory and message queues are kept apart as files are.
func (n namespace) flags() uintptr {
	switch n {
	case mountNamespace:
		return unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	case userNamespace:
		return unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	default:
		return 0
	}
}

// ambient are the capabilities within a user namespace that the helper needs to write its maps and
// make its mounts. Without them it would lose all when it is executed, because it has no user there
// yet.
func (n namespace) ambient() []uintptr {
	if n != userNamespace {
		return nil
	}
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
}

// mapped is who we are within the user namespace: the same as without.
func (n namespace) mapped() *ids {
	if n != userNamespace {
		return nil
	}
	return &ids{UID: os.Geteuid(), GID: os.Getegid()}
}

// findNamespace finds out what can be had here, or why nothing can.
func (c *Confinement) findNamespace() (namespace, string) {
	kind := userNamespace
	if os.Geteuid() == 0 {
		kind = mountNamespace
	}
	if err := probes[kind](); err != nil {
		return noNamespace, err.Error()
	}
	return kind, ""
}

// probes try each kind once, since what the kernel lets us do does not change.
var probes = map[namespace]func() error{
	mountNamespace: sync.OnceValue(func() error { return probe(mountNamespace) }),
	userNamespace:  sync.OnceValue(func() error { return probe(userNamespace) }),
}

// probe has the helper make mounts as it would for an agent.
func probe(kind namespace) error {
	p := plan{Probe: true, Mounts: &mounts{Map: kind.mapped(), Hide: []string{"/etc"}, Fix: []string{"/usr"}}}
	var out, said bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Dir, cmd.Env = []string{"nanobot", Command, "-plan=" + p.String(), "--", "true"}, "/", []string{}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: kind.flags(), AmbientCaps: kind.ambient(), Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case out.String() == probed:
		return nil
	case err != nil && !errors.As(err, &exit):
		return errors.Unwrap(err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said.String()), "nanobot: "), "\n")
	return errors.New(line)
}

// patience is for a kernel that hangs, and for programs that are not the helper though they should
// be.
const patience = time.Minute

// probed is what the helper prints that could do what it was to try.
const probed = "ok"
