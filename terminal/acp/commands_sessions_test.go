package acp

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal/acp/rpc"
)

func TestSessionsOfOneTitleAndMinuteAreToldApart(t *testing.T) {
	t.Parallel()
	session := func(id, title, updated string) sessionInfo {
		return sessionInfo{ID: id, Title: rpc.Optional[string]{V: title, OK: true}, Updated: rpc.Optional[string]{V: updated, OK: true}}
	}
	got := sessionNames([]sessionInfo{
		session("s-1", "fix", "2026-03-04T05:06:07Z"), session("s-2", "fix", "2026-03-04T05:06:09Z"),
		session("s-3", "fix", "2026-03-04T05:07:00Z"), session("abc-123456", "build", ""), session("abc-654321", "build", ""),
		session("s-6", "test", "2026-03-04T05:06:07Z"), session("s-7", "test", "2026-03-04T05:06:07.5Z"), session("s-8", "", ""),
	})
	wanttest.EqualSlices(t, "names", got, []string{
		"fix (4 Mar 05:06:07)", "fix (4 Mar 05:06:09)", "fix (4 Mar 05:07)", "build …123456", "build …654321",
		"test (4 Mar 05:06:07) …s-6", "test (4 Mar 05:06:07) …s-7", "s-8",
	})
}
