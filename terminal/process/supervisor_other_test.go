//go:build !linux

package process_test

func other([]string) bool { return false }
