package config

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// Quota is a limit for what messages use in a day.
type Quota struct {
	Per     string  `json:"per" jsonschema:"required,enum=user,enum=chat,enum=agent" jsonschema_description:"Whose use is limited. Messages that nobody typed count for their chat and agent."`
	Match   Match   `json:"match,omitzero" jsonschema_description:"Every key must match. Default: all messages."`
	Turns   int     `json:"turns,omitempty" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"Turns that may begin in a day."`
	Seconds int     `json:"seconds,omitempty" unit:"seconds" jsonschema:"minimum=0,maximum=1000000000" jsonschema_description:"Seconds of turns in a day, without waiting for people, after which no other begins."`
	Cost    float64 `json:"cost,omitempty" jsonschema:"minimum=0" jsonschema_description:"US dollars in a day, as agents report them, after which no other turn begins."`
}

// Limit returns the key of the limit that is set, and the limit.
func (q Quota) Limit() (key string, limit float64) {
	switch {
	case q.Turns > 0:
		return "turns", float64(q.Turns)
	case q.Seconds > 0:
		return "seconds", float64(q.Seconds)
	}
	return "cost", q.Cost
}

// Rule names what the quota counts. It does not depend on the limit, so that a changed limit holds
// for what was used before.
func (q Quota) Rule() string {
	key, _ := q.Limit()
	return fmt.Sprintf("%s/%s/%x", key, q.Per, sha256.Sum256([]byte(q.Match.String())))[:len(key)+len(q.Per)+18]
}

func checkQuotas(c *Config) []Problem {
	var all []Problem
	first := map[string]string{}
	for i, q := range c.Quotas {
		path := []string{"quotas", strconv.Itoa(i)}
		for _, key := range q.Match.Keys() {
			all = append(all, c.checkMatchKey(joinPath(path, "match", key.Name), key)...)
		}
		var set []string
		for _, limit := range []struct {
			key string
			n   float64
		}{{"turns", float64(q.Turns)}, {"seconds", float64(q.Seconds)}, {"cost", q.Cost}} {
			if limit.n > 0 {
				set = append(set, limit.key)
			}
		}
		if len(set) == 0 {
			all = append(all, Problem{Path: joinPath(path, "turns"), Text: "must be more than 0, unless seconds or cost is"})
			continue
		}
		for _, key := range set[1:] {
			all = append(all, Problem{
				Path: joinPath(path, key), Text: "cannot be combined with " + set[0] + "; write another quota",
			})
		}
		if other, found := first[q.Rule()]; found {
			key, _ := q.Limit()
			all = append(all, Problem{
				Path: joinPath(path, key), Text: fmt.Sprintf("limits the %s of the same messages as %s", key, other),
			})
		}
		first[q.Rule()] = fmt.Sprintf("quotas[%d]", i)
	}
	return all
}
