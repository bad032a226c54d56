package main

import "golang.org/x/sys/unix"

// hideMemory makes this process not dumpable: other processes of the same user, agents among them,
// can then read neither its environment, where tokens may be, nor its memory, nor its open files. A
// process started from here is dumpable again once it has executed its program.
func hideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
