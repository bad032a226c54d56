package channels

import "time"

// Verdict is how a check went.
type Verdict string

// The verdicts.
const (
	Good     Verdict = "ok"
	Doubtful Verdict = "warn" // it works, and yet it is probably not as it is meant
	Bad      Verdict = "fail" // it cannot work
)

// Finding is what one check has found out. It never contains a secret.
type Finding struct {
	Check  string  `json:"check"`
	Status Verdict `json:"status"`
	Detail string  `json:"detail"`
	Fix    string  `json:"fix"` // what to do about it; "" when there is nothing to do
}

// Examination says what a channel must know before it looks around.
type ExamineOptions struct {
	// Running says that a daemon of ours serves this very bot, and must not be disturbed.
	Running bool
	// Listen is how long it waits for others to show themselves.
	Listen time.Duration
}

// ClockSkewFinding compares clocks. The headers that tell theirs have only seconds, and the answer takes
// its time, so less than a minute is no difference.
func ClockSkewFinding(check string, skew time.Duration) Finding {
	if skew.Abs() < time.Minute {
		return Finding{Check: check, Status: Good, Detail: "the clock agrees with the network's"}
	}
	way := "behind"
	if skew < 0 {
		way = "ahead of"
	}
	return Finding{
		Check: check, Status: Doubtful, Detail: "the clock is " + skew.Abs().Round(time.Second).String() + " " + way + " the network's",
		Fix: "synchronise it: timedatectl set-ntp true",
	}
}
