package intake_test

import (
	"testing"

	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

func TestWhoSeesWhichSessions(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		sees := func(user string, want terminal.SessionAccess) {
			fx.t.Helper()
			if got, err := fx.access.Sessions(fx.t.Context(), fx.message(user, "/sessions"), store.DefaultAgent); got != want || err != nil {
				fx.t.Errorf("%s: %v, %v", user, got, err)
			}
		}
		sees("ann", terminal.OwnSessions) // bob has access, too
		fx.setApprovers(store.DefaultAgent, "net:ann", "other:bob")
		sees("ann", terminal.SessionsElsewhere)
		sees("bob", terminal.OwnSessions)
		fx.setApprovers(store.DefaultAgent)
		fx.people.AllowFrom["net"] = []string{"ann"}
		sees("ann", terminal.AllSessions)
		inGroup := fx.message("ann", "/sessions")
		inGroup.Group = true
		if got, err := fx.access.Sessions(fx.t.Context(), inGroup, store.DefaultAgent); got != terminal.OwnSessions || err != nil {
			fx.t.Errorf("in a group: %v, %v", got, err)
		}
		fx.people.AllowFrom["net"] = []string{"ann", "*"}
		sees("ann", terminal.OwnSessions)
		delete(fx.people.AllowFrom, "net") // people sign in elsewhere
		sees("ann", terminal.OwnSessions)
		fx.people.AllowFrom["net"] = nil
		for i, user := range []string{"ann", "bob"} {
			if _, ok, err := fx.store.Admit(fx.t.Context(), store.Person{Channel: "net", User: user}, intake.CodeLifetime); !ok || err != nil {
				fx.t.Fatal(ok, err)
			}
			// Alone as long as nobody else is paired.
			sees("ann", []terminal.SessionAccess{terminal.AllSessions, terminal.OwnSessions}[i])
		}
	})
}
