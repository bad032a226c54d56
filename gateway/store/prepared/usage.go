package prepared

import (
	"strconv"
	"time"

	"nanobot/gateway/store"
)

// Usage is a row that the end of a turn adds to the ledger.
type Usage struct {
	Model  string  `json:"model"`
	Turns  int     `json:"turns"`
	Took   int64   `json:"took"` // in microseconds
	Input  int64   `json:"input"`
	Output int64   `json:"output"`
	Cost   float64 `json:"cost"`
}

// NewUsage returns the rows for the usage of a turn; nil: it is not counted.
func NewUsage(u *store.TurnUsage) (rows []Usage) {
	if u == nil {
		return nil
	}
	models := u.Models
	if len(models) == 0 {
		models = make([]store.ModelUsage, 1)
	}
	for _, m := range models {
		rows = append(rows, Usage{Model: m.Model, Input: m.InputTokens, Output: m.OutputTokens, Cost: m.Cost})
	}
	rows[0].Turns, rows[0].Took = 1, u.Took.Microseconds()
	return rows
}

// TimeUsage returns sums by time whose keys are microseconds with the keys of the contract.
func TimeUsage(by store.UsageKey, sums []store.UsageSum) []store.UsageSum {
	for i, s := range sums {
		if us, err := strconv.ParseInt(s.Key, 10, 64); err == nil && by == store.UsageByTime {
			sums[i].Key = time.UnixMicro(us).UTC().Format(time.RFC3339)
		}
	}
	return sums
}
