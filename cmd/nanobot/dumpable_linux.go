package main

import "golang.org/x/sys/unix"

// hideMemory makes this process undumpable: other processes of the same user, such as agents, can
// then read neither its environment, which may contain tokens, nor its memory, nor its open files.
// Child processes are dumpable again after execve.
func hideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
