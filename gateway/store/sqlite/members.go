package sqlite

import (
	"context"
	"fmt"
	"slices"

	"nanobot/gateway/store"
)

// Member returns the name of this handle's member.
func (s inbox) Member() string { return s.member }

// Adopt takes over the claimed work of other members. They are gone, since only one daemon at a
// time has the lock.
func (s inbox) Adopt(ctx context.Context) (store.Adopted, error) {
	// The process records of all running turns are read, because fillProcesses frees every other
	// line of the process file, also those of this member. This happens before the adoption,
	// because an adopted message is not adopted again after a failure.
	running, err := readAll(ctx, s.state, "read the work of earlier daemons", scanInbound, selectInbound+"state = 'running' AND ended = 0 ORDER BY id")
	if err != nil {
		return store.Adopted{}, err
	}
	if err := s.processes.fillProcesses(running); err != nil {
		return store.Adopted{}, fmt.Errorf("read the work of earlier daemons: %w", err)
	}
	adopted, err := changed(ctx, s.state, "adopt the work of earlier daemons", func(t *tx) store.Adopted {
		a := store.Adopted{
			// state <> 'sent' is redundant, but lets SQLite use the partial index outbox_unsent.
			Deliveries: queryAllTx(t, scanDelivery, selectDelivery+"state = 'sending' AND state <> 'sent' AND owner <> ? ORDER BY id", s.member),
			Transients: queryAllTx(t, scanTransient, selectTransient+`WHERE inbound NOT IN
				(SELECT id FROM inbox WHERE state = 'running' AND ended = 0 AND owner = ?) ORDER BY inbound, chat, id`, s.member),
			Folds: adoptFolds(t, s.member),
		}
		t.exec("UPDATE inbox SET owner = ?1 WHERE state = 'running' AND ended = 0 AND owner <> ?1", s.member)
		t.exec("UPDATE outbox SET owner = ?1 WHERE state = 'sending' AND state <> 'sent' AND owner <> ?1", s.member)
		return a
	})
	if err != nil {
		return store.Adopted{}, err
	}
	adopted.Transients = slices.DeleteFunc(adopted.Transients, func(b store.Transient) bool {
		return slices.ContainsFunc(adopted.Folds, func(f store.PendingFold) bool { return f.Board == b })
	})
	for _, inbound := range running {
		if inbound.Owner != s.member {
			inbound.Owner = s.member
			adopted.Inbounds = append(adopted.Inbounds, inbound)
		}
	}
	return adopted, nil
}
