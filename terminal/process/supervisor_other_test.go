//go:build !linux

package process_test

func runHelperCommand([]string) bool { return false }
