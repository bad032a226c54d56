package discord

import "time"

// maxInvalidRequests is how many invalid requests are made in ten minutes. At 10,000 Discord blocks
// the IP address, which other bots may share.
const maxInvalidRequests = 5000

// invalidRequests counts invalid requests of the last ten minutes, by the minute.
type invalidRequests struct {
	minute int64 // of the newest count
	counts [10]int
}

func (i *invalidRequests) advance(now time.Time) {
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

func (i *invalidRequests) add(now time.Time) {
	i.advance(now)
	i.counts[i.minute%int64(len(i.counts))]++
}

// pause is how long no call should be made.
func (i *invalidRequests) pause(now time.Time) time.Duration {
	i.advance(now)
	sum := 0
	for _, n := range i.counts {
		sum += n
	}
	if sum < maxInvalidRequests {
		return 0
	}
	return time.Minute
}
