package sqlite

import (
	"context"
	"fmt"
	"slices"

	"nanobot/gateway/store"
)

// Member returns the name of this handle's member.
func (s *Store) Member() string { return s.member }

// Adopt takes over the claimed work of other members. They are gone, since only one daemon at a
// time has the lock.
func (s *Store) Adopt(ctx context.Context) (store.Adopted, error) {
	// The process records of all running turns are read, because fillProcesses frees every other
	// line of the process file, also those of this member. This happens before the adoption,
	// because an adopted message is not adopted again after a failure.
	running, err := queryAll(ctx, s, scanInbound, "SELECT "+inboundColumns+" FROM inbox WHERE state = 'running' AND ended = 0 ORDER BY id")
	if err == nil {
		err = s.processes.fillProcesses(running)
	}
	if err != nil {
		return store.Adopted{}, fmt.Errorf("read the work of earlier daemons: %w", err)
	}
	var sending []store.Delivery
	var left []store.Transient
	var folds []store.PendingFold
	err = s.change(ctx, "adopt the work of earlier daemons", func(t *tx) (err error) {
		// state <> 'sent' is redundant, but lets SQLite use the partial index outbox_unsent.
		sending, err = queryAllTx(t, scanDelivery, "SELECT "+deliveryColumns+` FROM outbox
			WHERE state = 'sending' AND state <> 'sent' AND owner <> ? ORDER BY id`, s.member)
		if err != nil {
			return err
		}
		left, err = queryAllTx(t, scanTransient, `SELECT chat, id, inbound, board > 0, incoming FROM transient
			WHERE inbound NOT IN (SELECT id FROM inbox WHERE state = 'running' AND ended = 0 AND owner = ?) ORDER BY inbound, chat, id`, s.member)
		if err != nil {
			return err
		}
		if folds, err = t.adoptFolds(s.member); err != nil {
			return err
		}
		if err := t.exec("UPDATE inbox SET owner = ?1 WHERE state = 'running' AND ended = 0 AND owner <> ?1", s.member); err != nil {
			return err
		}
		return t.exec("UPDATE outbox SET owner = ?1 WHERE state = 'sending' AND state <> 'sent' AND owner <> ?1", s.member)
	})
	if err != nil {
		return store.Adopted{}, err
	}
	isFolded := func(b store.Transient) bool {
		return slices.ContainsFunc(folds, func(f store.PendingFold) bool { return f.Board == b })
	}
	adopted := store.Adopted{Deliveries: sending, Transients: slices.DeleteFunc(left, isFolded), Folds: folds}
	for _, inbound := range running {
		if inbound.Owner != s.member {
			inbound.Owner = s.member
			adopted.Inbounds = append(adopted.Inbounds, inbound)
		}
	}
	return adopted, nil
}

// queryAllTx reads all rows of a query within the writer's transaction.
func queryAllTx[T any](t *tx, scan func(func(...any) error) (T, error), query string, args ...any) ([]T, error) {
	var got []T
	err := t.queryRows(query, args, func(row func(...any) error) error {
		v, err := scan(row)
		got = append(got, v)
		return err
	})
	return got, err
}
