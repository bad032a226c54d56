package procfs

// OwnCgroupIn, ParseStat and UsableMemoryIn parse texts of other kernels than this machine's.
var (
	OwnCgroupIn    = ownCgroup
	ParseStat      = parseStat
	UsableMemoryIn = usableMemory
)
