package sqlite

import (
	"context"
	"fmt"
	"time"

	"nanobot/gateway/store"
)

// quotas implements store.Quotas.
type quotas struct{ *state }

// AdmitTurn counts a running inbound message for its quotas, unless one of them is used up.
func (s quotas) AdmitTurn(ctx context.Context, id int64, all []store.Quota, zone *time.Location) (
	store.Admission, error,
) {
	at := micros(store.StartOfDay(s.now(), zone))
	return changed(ctx, s.state, fmt.Sprintf("admit inbound message %d", id), func(t *tx) (a store.Admission) {
		chat, _ := chatOfRunning(t, id, s.member)
		used := func(q store.Quota) (n float64) {
			t.queryRow("SELECT used FROM quota WHERE at = ? AND rule = ? AND subject = ?", []any{at, q.Rule, q.Subject}, &n)
			return n
		}
		tell := func(i int, spent bool, n float64) {
			q := all[i]
			t.exec("INSERT OR IGNORE INTO quota_told (at, rule, subject, chat, spent, inbound) VALUES (?, ?, ?, ?, ?, ?)", at,
				q.Rule, q.Subject, chat, spent, id)
			if t.exists(`SELECT 1 FROM quota_told WHERE at = ? AND rule = ? AND subject = ? AND chat = ? AND spent = ?
				AND inbound = ?`, at, q.Rule, q.Subject, chat, spent, id) {
				a.Tell = append(a.Tell, store.UsedQuota{Quota: i, Used: n})
			}
		}
		counted := t.exists("SELECT 1 FROM counted WHERE inbound = ? LIMIT 1", id)
		for i, q := range all {
			if n := used(q); !counted && n >= q.SpentFrom() {
				tell(i, true, n)
				return a
			}
		}
		a.Admitted = true
		for i, q := range all {
			if !counted && t.execCount("INSERT OR IGNORE INTO counted (inbound, at, rule, subject, unit) VALUES (?, ?, ?, ?, ?)",
				id, at, q.Rule, q.Subject, string(q.Unit)) > 0 {
				t.exec(`INSERT INTO quota (at, rule, subject, used) VALUES (?, ?, ?, ?)
					ON CONFLICT DO UPDATE SET used = used + excluded.used`, at, q.Rule, q.Subject, q.AtStart())
			}
			if n := used(q); n >= q.NearFrom() {
				tell(i, false, n)
			}
		}
		return a
	})
}

// endCount counts what a message that has ended has used.
func endCount(t *tx, id int64, state store.State, u *store.TurnUsage) {
	if !t.exists("SELECT 1 FROM counted WHERE inbound = ?1 UNION ALL SELECT 1 FROM quota_told WHERE inbound = ?1", id) {
		return
	}
	turns, seconds, cost := store.QuotaUse(state, u)
	t.exec(`UPDATE quota SET used = used + CASE c.unit WHEN 'turns' THEN ?1 WHEN 'seconds' THEN ?2 ELSE ?3 END FROM counted c
		WHERE c.inbound = ?4 AND quota.at = c.at AND quota.rule = c.rule AND quota.subject = c.subject`, turns, seconds, cost, id)
	t.exec("DELETE FROM counted WHERE inbound = ?", id)
	t.exec("UPDATE quota_told SET inbound = 0 WHERE inbound = ?", id)
}

// pruneQuotas deletes what was counted on earlier days.
func pruneQuotas(t *tx, now time.Time) {
	for _, table := range []string{"quota", "counted", "quota_told"} {
		t.exec("DELETE FROM "+table+" WHERE at < ?", micros(now.Add(-store.QuotaAge)))
	}
}
