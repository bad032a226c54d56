package store

import (
	"context"
	"time"
)

// OverQuota is the status of an inbound message that a quota has kept from running.
const OverQuota = "quota"

// nearQuota is the part of a quota after which the chat is told that its end is near.
const nearQuota = 0.8

// QuotaAge is the age at which Prune deletes what was counted on a day.
const QuotaAge = 48 * time.Hour

// QuotaUnit is what a quota limits.
type QuotaUnit string

// The units of quotas. Turns count when they begin, the seconds and the US dollars of a turn when
// it ends.
const (
	QuotaTurns   QuotaUnit = "turns"
	QuotaSeconds QuotaUnit = "seconds"
	QuotaCost    QuotaUnit = "cost"
)

// Quota is a limit a day that an inbound message counts for.
type Quota struct {
	Rule    string    `json:"rule"`    // names what is counted: the unit and the messages
	Per     string    `json:"-"`       // what the subject is: user, chat or agent
	Subject string    `json:"subject"` // the person (channel:ID), the chat or the agent
	Unit    QuotaUnit `json:"unit"`
	Limit   float64   `json:"limit"`
}

// Admission is the result of AdmitTurn.
type Admission struct {
	Admitted bool
	// Tell is what the chat is to be told: the quota that has refused the message, or those of
	// which the end is near. A quota is told once a day in a chat, each of both.
	Tell []UsedQuota
}

// UsedQuota is a quota and how much of it is used.
type UsedQuota struct {
	Quota int // the index of the quota
	Used  float64
}

// Quotas counts what messages use a day.
type Quotas interface {
	// AdmitTurn counts a running inbound message for its quotas, unless one of them is used up. A
	// message that was counted is admitted again, until it has ended. Days are those of a zone;
	// nil: UTC.
	AdmitTurn(ctx context.Context, id int64, quotas []Quota, zone *time.Location) (Admission, error)
}

// quotaPrecision is the error of sums of dollars.
const quotaPrecision = 1e-9

// SpentFrom returns how much of a quota is used when it is used up.
func (q Quota) SpentFrom() float64 { return q.Limit - quotaPrecision }

// NearFrom returns how much of a quota is used when its end is near.
func (q Quota) NearFrom() float64 { return nearQuota*q.Limit - quotaPrecision }

// AtStart returns how much a message uses of a quota when it is admitted.
func (q Quota) AtStart() float64 {
	if q.Unit == QuotaTurns {
		return 1
	}
	return 0
}

// QuotaUse returns what an ended message has used besides AtStart. A turn is given back whose agent
// was not started.
func QuotaUse(state State, u *TurnUsage) (turns, seconds, cost float64) {
	if u == nil {
		if state == Done {
			turns = -1
		}
		return turns, 0, 0
	}
	for _, m := range u.Models {
		cost += m.Cost
	}
	return 0, u.Took.Seconds(), cost
}
