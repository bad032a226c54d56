package discord

import "time"

// invalidLimit is how many refused calls there may be in ten minutes. At 10,000 Discord bars the
// address that they come from, which may be that of other bots too.
const invalidLimit = 5000

// invalid counts refused calls by the minute.
type invalid struct {
	minute int64 // of the newest count
	counts [10]int
}

func (i *invalid) roll(now time.Time) {
	minute := now.Unix() / 60
	for range min(minute-i.minute, int64(len(i.counts))) {
		i.minute++
		i.counts[i.minute%int64(len(i.counts))] = 0
	}
	if i.minute < minute {
		i.minute = minute
		i.counts = [10]int{}
	}
}

func (i *invalid) count(now time.Time) {
	i.roll(now)
	i.counts[i.minute%int64(len(i.counts))]++
}

// wait is how long nothing should be asked.
func (i *invalid) wait(now time.Time) time.Duration {
	i.roll(now)
	sum := 0
	for _, n := range i.counts {
		sum += n
	}
	if sum < invalidLimit {
		return 0
	}
	return time.Minute
}
