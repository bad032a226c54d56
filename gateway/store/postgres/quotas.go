package postgres

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// AdmitTurn counts a running inbound message for its quotas, unless one of them is used up.
func (s quotas) AdmitTurn(ctx context.Context, id int64, all []store.Quota, zone *time.Location) (
	store.Admission, error,
) {
	type quota struct {
		store.Quota
		Index int     `json:"index"`
		Start float64 `json:"start"`
		Spent float64 `json:"spent"`
		Near  float64 `json:"near"`
	}
	args := struct {
		idArgs
		At     int64   `json:"at"`
		Quotas []quota `json:"quotas"`
	}{idArgs: idArgs{id}}
	now := time.Now()
	if us := s.time(); us != nil {
		now = time.UnixMicro(*us)
	}
	args.At = micros(store.StartOfDay(now, zone))
	for i, q := range all {
		args.Quotas = append(args.Quotas, quota{q, i, q.AtStart(), q.SpentFrom(), q.NearFrom()})
	}
	var a store.Admission
	err := s.change(ctx, changeRequest{
		what: fmt.Sprintf("admit inbound message %d", id), function: "admit_turn", scope: ofInbound(id), args: args,
	}, &a)
	return a, err
}

// quotaUse is what an ended message counts for its quotas.
type quotaUse struct {
	Turns   float64 `json:"turns"`
	Seconds float64 `json:"seconds"`
	Cost    float64 `json:"cost"`
}

func newQuotaUse(state store.State, used *store.TurnUsage) (u quotaUse) {
	u.Turns, u.Seconds, u.Cost = store.QuotaUse(state, used)
	return u
}
