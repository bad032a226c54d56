//go:build !linux

package process

import "errors"

type cgroups struct{ dir string }

func openCgroups() (*cgroups, string)         { return nil, "this system has none" }
func (*cgroups) close()                       {}
func (*cgroups) closeIdle() bool              { return false }
func (*cgroups) enableController(string) bool { return false }

func (*cgroups) acquire(Options) (*cgroup, error) { return nil, errors.New("this system has none") }

type cgroup struct{}

func (*cgroup) attach(*leader) {}
func (*cgroup) kill()          {}
func (*cgroup) empty() bool    { return false }
func (*cgroup) killAndWait()   {}
func (*cgroup) release(Usage)  {}
func (*cgroup) discard()       {}
func (*cgroup) usage() Usage   { return Usage{} }

type subreaper struct{}

func (*subreaper) setOwner(*supervisedChild, string) {}
func (*subreaper) ownerOf(int) (string, bool, error) { return "", false, ErrNoOwner }

func openSubreaper(bool, *cgroups) *subreaper                { return nil }
func (*subreaper) close()                                    {}
func (*subreaper) addMark(*leader) string                    { return "" }
func (*subreaper) start(l *leader, _ *supervisedChild) error { return l.start() }
func (*subreaper) killDescendants(int, *supervisedChild)     {}
func (*subreaper) reap(l *leader, _ *supervisedChild)        { l.reap() }
