// Package quota says for which quotas of the configuration a message counts. The store counts.
package quota

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/display"
	"nanobot/gateway/ledger"
	"nanobot/gateway/route"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

// WantsMedia reports whether a rule asks for the files of messages.
func WantsMedia(rules []config.Quota) bool {
	return slices.ContainsFunc(rules, func(q config.Quota) bool { return q.Match.Media != nil })
}

// Of returns the quotas for which a message to an agent counts.
func Of(rules []config.Quota, f route.Facts, agent string) (all []store.Quota) {
	for _, rule := range rules {
		subject := f.Chat.String()
		switch rule.Per {
		case "user":
			if subject = f.Chat.Channel + ":" + f.User; f.Origin != channels.Person || f.User == "" {
				continue
			}
		case "agent":
			subject = agent
		}
		if f.Has(rule.Match) {
			key, limit := rule.Limit()
			all = append(all, store.Quota{
				Rule: rule.Rule(), Per: rule.Per, Subject: subject, Unit: store.QuotaUnit(key), Limit: limit,
			})
		}
	}
	return all
}

// Notice tells a chat of what is used of quotas, which renew at a time.
func Notice(w words.Words, all []store.Quota, a store.Admission, renews time.Time) string {
	var lines []string
	at := renews.Format("15:04 (") + renews.Location().String() + ")"
	for _, used := range a.Tell {
		q := all[used.Quota]
		if a.Admitted {
			lines = append(lines, w.Text(words.QuotaNear, number(q, used.Used), amount(w, q, q.Limit), per(w, q), at))
		} else {
			lines = append(lines, w.Text(words.QuotaSpent, amount(w, q, q.Limit), per(w, q), at))
		}
	}
	return strings.Join(lines, "\n")
}

// amount describes an amount in the unit of a quota.
func amount(w words.Words, q store.Quota, n float64) string {
	if q.Unit == store.QuotaTurns {
		return w.Text(words.QuotaTurns, int(n))
	}
	return number(q, n)
}

func number(q store.Quota, n float64) string {
	switch q.Unit {
	case store.QuotaTurns:
		return strconv.Itoa(int(n))
	case store.QuotaSeconds:
		return display.Duration(time.Duration(n * float64(time.Second)))
	case store.QuotaCost:
	}
	return ledger.FormatCost(n)
}

func per(w words.Words, q store.Quota) string {
	switch q.Per {
	case "user":
		return w.Text(words.QuotaPerUser)
	case "chat":
		return w.Text(words.QuotaPerChat)
	}
	return w.Text(words.QuotaPerAgent, q.Subject)
}
