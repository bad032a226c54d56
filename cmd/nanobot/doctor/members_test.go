package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
)

// expect checks the first finding.
func expect(t *testing.T, found findings, status channels.Verdict, text string) {
	t.Helper()
	if len(found) == 0 || found[0].Status != status || !strings.Contains(found[0].Detail, text) ||
		(found[0].Fix == "") != (status == channels.Good) {
		t.Errorf("got %+v, want %s with %q", found, status, text)
	}
}

func TestADatabaseThatForgetsMessagesIsReported(t *testing.T) {
	sound := postgres.Server{Version: "16.1", Fsync: "on", Commit: "on", Standbys: "1 (b)", Free: 50, Needed: 16}
	change := func(f func(*postgres.Server)) postgres.Server { s := sound; f(&s); return s }
	expect(t, assessServer(sound), channels.Good, "version 16.1, fsync on, synchronous_commit on, connections left: 50")
	expect(t, assessServer(change(func(s *postgres.Server) { s.Fsync = "off" })), channels.Bad, "fsync is off")
	expect(t, assessServer(change(func(s *postgres.Server) { s.Commit = "off" })), channels.Bad, "synchronous_commit is off")
	expect(t, assessServer(change(func(s *postgres.Server) { s.Free = 15 })), channels.Doubtful, "connections left: 15")
	expect(t, assessServer(change(func(s *postgres.Server) { s.Ahead = -time.Minute })), channels.Doubtful, "by 1m0s")
	expect(t, assessStandby(sound), channels.Good, "1 (b)")
	for _, s := range []postgres.Server{
		change(func(s *postgres.Server) { s.Standbys = "" }), change(func(s *postgres.Server) { s.Commit = "local" }),
	} {
		expect(t, assessStandby(s), channels.Doubtful, "a failover may forget acknowledged messages")
	}
}

func TestMembersThatDifferAreNamed(t *testing.T) {
	member := func(name, version, config string) store.MemberStatus {
		return store.MemberStatus{
			Name: name, State: store.Up, Leader: name == "a", MemberInfo: store.MemberInfo{Version: version, Config: config},
		}
	}
	expect(t, assessMembers(nil), channels.Good, "none is up")
	expect(t, assessMembers([]store.MemberStatus{member("a", "1", "x"), member("b", "1", "x")}), channels.Good,
		"a is up and receives, b is up")
	expect(t, assessMembers([]store.MemberStatus{member("a", "1", "x"), member("b", "2", "x")}), channels.Doubtful, "a 1, b 2")
	found := assessMembers([]store.MemberStatus{member("a", "1", "x"), member("b", "2", "y")})
	if len(found) != 2 || !strings.Contains(fmt.Sprint(found[1]), "a x, b y") {
		t.Errorf("got %+v", found)
	}
}
