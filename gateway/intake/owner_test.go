package intake_test

import (
	"testing"

	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

func TestAnOwnerIsAnApproverOrTheOnlyPersonWithAccess(t *testing.T) {
	runIntake(t, func(r *fixture) {
		isOwner := func(user string, want bool) {
			r.t.Helper()
			if got, err := r.IsOwner(r.t.Context(), r.message(user, "/sessions"), store.DefaultAgent); got != want || err != nil {
				r.t.Errorf("%s: %v, %v", user, got, err)
			}
		}
		isOwner("ann", false) // bob has access, too
		r.setApprovers(store.DefaultAgent, "net:ann", "other:bob")
		isOwner("ann", true)
		isOwner("bob", false)
		r.setApprovers(store.DefaultAgent)
		r.settings.AllowFrom["net"] = []string{"ann"}
		isOwner("ann", true)
		inGroup := r.message("ann", "/sessions")
		inGroup.Group = true
		if got, err := r.IsOwner(r.t.Context(), inGroup, store.DefaultAgent); got || err != nil {
			r.t.Errorf("in a group: %v, %v", got, err)
		}
		r.settings.AllowFrom["net"] = []string{"ann", "*"}
		isOwner("ann", false)
		delete(r.settings.AllowFrom, "net") // people sign in elsewhere
		isOwner("ann", false)
		r.settings.AllowFrom["net"] = nil
		for i, user := range []string{"ann", "bob"} {
			if _, ok, err := r.store.Admit(r.t.Context(), store.Person{Channel: "net", User: user}, intake.CodeLifetime); !ok || err != nil {
				r.t.Fatal(ok, err)
			}
			isOwner("ann", i == 0) // alone as long as nobody else is paired
		}
	})
}
