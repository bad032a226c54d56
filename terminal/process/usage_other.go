//go:build !linux

package process

// maxrssUnit is the unit of rusage.ru_maxrss in bytes.
const maxrssUnit = 1

// liveUsage returns nothing: there is no portable way.
func liveUsage(int) Usage { return Usage{} }
