package role_test

import (
	"slices"
	"testing"

	"nanobot/internal/role"
)

// may says who may do an action: without roles, then guest, user, approver, owner and operator,
// each by a letter or a dot.
var may = map[role.Action]string{
	role.Talk:  "-guao.",
	"/start":   "-guao.",
	"/help":    "-guao.",
	"/whoami":  "-guao.",
	"/stop":    "-.uao.",
	"/status":  "-.uao.",
	"/new":     "-.uao.",
	"/retry":   "-.uao.",
	"/verbose": "-.uao.",
	"/usage":   "-.uao.",
	"/search":  "-.uao.",

	role.Schedule: "-.uao.",
	"/schedules":  "-.uao.",
	"/unschedule": "-.uao.",
	"/details":    "-.uao.",
	"/cancel":     "-.uao.",
	"/again":      "-.uao.",
	"/rerun":      "-.uao.",
	"/resend":     "-.uao.",

	role.SwitchAgent: "-.uao.",
	"/runbooks":      "-.uao.",
	"/run":           "-.uao.",
	role.CommentRun:  "-.uao.",
	"/config":        "-.uao.",
	"/mode":          "-.uao.",
	"/model":         "-.uao.",
	"/sessions":      "-.uao.",

	"/screen":           "-.uao.",
	"/key":              "-.uao.",
	role.TypeInTerminal: "-.uao.",
	"/take":             "-.uao.",
	"/give":             "-.uao.",
	"/log":              "-.uao.",
	"/size":             "-.uao.",
	"/resume":           "-.uao.",
	"/diff":             "-.uao.",
	"/undo":             "-.uao.",

	role.Approve:            "-..ao.",
	role.DecideRun:          "-..ao.",
	role.RemoveSchedule:     "-..ao.",
	role.SessionsElsewhere:  "....o.",
	role.UseConsole:         ".....O",
	"an action without row": "-...o.",
}

func TestWhoMayDoWhat(t *testing.T) {
	for _, a := range role.Actions() {
		if may[a] == "" {
			t.Errorf("the table has no row for %q", a)
		}
	}
	for a, want := range may {
		got := ""
		for i, r := range []role.Role{role.None, role.Guest, role.User, role.Approver, role.Owner, role.Operator} {
			letter := "."
			if role.May(r, a, role.NoList) {
				letter = string("-guaoO"[i])
			}
			got += letter
		}
		if got != want {
			t.Errorf("%q: %s, want %s", a, got, want)
		}
	}
}

func TestAListOfApproversDecidesAboutApprovalsAlone(t *testing.T) {
	for _, a := range []role.Action{role.Approve, role.DecideRun, role.RemoveSchedule} {
		for r, may := range map[role.Role]bool{role.None: true, role.Guest: false, role.User: true, role.Approver: true, role.Owner: true} {
			if got := role.May(r, a, role.Listed); got != may {
				t.Errorf("%q by a listed %s: %v", a, r, got)
			}
			if role.May(r, a, role.Unlisted) {
				t.Errorf("%q by an unlisted %s", a, r)
			}
		}
	}
	for _, r := range []role.Role{role.None, role.User, role.Owner} {
		if !role.May(r, role.SessionsElsewhere, role.Listed) || role.May(r, role.SessionsElsewhere, role.Unlisted) != (r == role.Owner) {
			t.Errorf("sessions: %q", r)
		}
	}
	if role.May(role.Guest, role.SessionsElsewhere, role.Listed) || role.May(role.Guest, "/stop", role.Listed) || role.May(role.None, role.UseConsole, role.Listed) {
		t.Error("the list gives rights that it is not about")
	}
}

func TestCommandsThatOnlyTheAgentKnowsAreTalk(t *testing.T) {
	if role.OfCommand("plan") != role.Talk || role.OfCommand("stop") != "/stop" {
		t.Error(role.OfCommand("plan"), role.OfCommand("stop"))
	}
}

func TestALowerRoleStays(t *testing.T) {
	var got []role.Role
	for _, r := range []role.Role{role.None, role.Guest, role.User, role.Approver, role.Owner} {
		got = append(got, r.AtMost(role.User))
	}
	if want := []role.Role{"", "guest", "user", "user", "user"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
