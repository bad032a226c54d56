//go:build !linux

package main

// hideMemory is for Linux, where processes of one user can look into each other.
func hideMemory() error { return nil }
