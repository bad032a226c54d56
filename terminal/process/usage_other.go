//go:build !linux

package process

// rssUnit is what the kernel counts a child's memory in.
const rssUnit = 1

// liveUsage knows nothing: there is no portable way.
func liveUsage(int) Usage { return Usage{} }
