package procfs

// OwnCgroupIn and ParseStat parse texts of other kernels than this machine's.
var (
	OwnCgroupIn = ownCgroup
	ParseStat   = parseStat
)
