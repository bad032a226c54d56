//go:build !linux

package main

import "runtime/debug"

func slim() { debug.FreeOSMemory() }
