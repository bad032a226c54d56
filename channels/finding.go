package channels

import "time"

// Verdict is the result of a check.
type Verdict string

// The verdicts.
const (
	Good     Verdict = "ok"
	Doubtful Verdict = "warn" // it works, but is probably not intended
	Bad      Verdict = "fail" // it cannot work
)

// Finding is the result of one check, with details. It never contains a secret.
type Finding struct {
	Check  string  `json:"check"`
	Status Verdict `json:"status"`
	Detail string  `json:"detail"`
	Fix    string  `json:"fix"` // what to do about it; "" if there is nothing to do
}

// ExamineOptions are the parameters of Examiner.Examine.
type ExamineOptions struct {
	// Running says that a daemon already serves this bot. It must not be disturbed.
	Running bool
	// Listen is how long Examine waits for messages that another program receives or sends.
	Listen time.Duration
}

// ClockSkewFinding compares the local clock with the network's. A difference of less than a minute
// is ignored: the Date header has a precision of one second, and the response takes time.
func ClockSkewFinding(check string, skew time.Duration) Finding {
	if skew.Abs() < time.Minute {
		return Finding{Check: check, Status: Good, Detail: "the clock agrees with the network's"}
	}
	way := "behind"
	if skew < 0 {
		way = "ahead of"
	}
	return Finding{
		Check: check, Status: Doubtful, Detail: "the clock is " + skew.Abs().Round(time.Second).String() + " " + way +
			" the network's",
		Fix: "synchronise it: timedatectl set-ntp true",
	}
}
