//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

type cgroups struct{ dir string }

func openCgroups() (*cgroups, string)         { return nil, "this system has none" }
func (*cgroups) close()                       {}
func (*cgroups) enableController(string) bool { return false }

func (*cgroups) acquire(Options) (*cgroup, error) { return nil, errors.New("this system has none") }

type cgroup struct{}

func (*cgroup) attach(*exec.Cmd) {}
func (*cgroup) kill()            {}
func (*cgroup) empty() bool      { return false }
func (*cgroup) killAndWait()     {}
func (*cgroup) release(Usage)    {}
func (*cgroup) discard()         {}
func (*cgroup) usage() Usage     { return Usage{} }

type subreaper struct{}

func (*subreaper) setOwner(*supervisedChild, string) {}
func (*subreaper) ownerOf(int) (string, bool, error) { return "", false, ErrNoOwner }

func openSubreaper(bool, *cgroups) *subreaper                    { return nil }
func (*subreaper) close()                                        {}
func (*subreaper) addMark(*exec.Cmd) string                      { return "" }
func (*subreaper) start(cmd *exec.Cmd, _ *supervisedChild) error { return cmd.Start() }
func (*subreaper) killDescendants(int, *supervisedChild)         {}
func (*subreaper) reap(cmd *exec.Cmd, _ *supervisedChild)        { _ = cmd.Wait() }
