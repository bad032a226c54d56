package intake_test

import (
	"testing"

	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestWhoSeesWhichSessions(t *testing.T) {
	runIntake(t, func(r *fixture) {
		sees := func(user string, want terminal.SessionAccess) {
			r.t.Helper()
			if got, err := r.access.Sessions(r.t.Context(), r.message(user, "/sessions"), store.DefaultAgent); got != want || err != nil {
				r.t.Errorf("%s: %v, %v", user, got, err)
			}
		}
		sees("ann", terminal.OwnSessions) // bob has access, too
		r.setApprovers(store.DefaultAgent, "net:ann", "other:bob")
		sees("ann", terminal.SessionsElsewhere)
		sees("bob", terminal.OwnSessions)
		r.setApprovers(store.DefaultAgent)
		r.people.AllowFrom["net"] = []string{"ann"}
		sees("ann", terminal.AllSessions)
		inGroup := r.message("ann", "/sessions")
		inGroup.Group = true
		if got, err := r.access.Sessions(r.t.Context(), inGroup, store.DefaultAgent); got != terminal.OwnSessions || err != nil {
			r.t.Errorf("in a group: %v, %v", got, err)
		}
		r.people.AllowFrom["net"] = []string{"ann", "*"}
		sees("ann", terminal.OwnSessions)
		delete(r.people.AllowFrom, "net") // people sign in elsewhere
		sees("ann", terminal.OwnSessions)
		r.people.AllowFrom["net"] = nil
		for i, user := range []string{"ann", "bob"} {
			if _, ok, err := r.store.Admit(r.t.Context(), store.Person{Channel: "net", User: user}, intake.CodeLifetime); !ok || err != nil {
				r.t.Fatal(ok, err)
			}
			// Alone as long as nobody else is paired.
			sees("ann", []terminal.SessionAccess{terminal.AllSessions, terminal.OwnSessions}[i])
		}
	})
}
