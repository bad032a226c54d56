package procfs

// OwnCgroupIn and ParseStat read text that this machine's kernel does not write.
var (
	OwnCgroupIn = ownCgroup
	ParseStat   = parseStat
)
