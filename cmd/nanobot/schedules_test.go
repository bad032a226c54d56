package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// scheduled is a config with schedules in the zone Europe/Berlin.
func scheduled(schedules string) string {
	return `{"terminal": {"command": "echo worked"}, "gateway": {"timezone": "Europe/Berlin", "onCrash": "retry"},
		"schedules": {` + schedules + `}` + anybody
}

// listSchedules returns the output of nanobot schedules --json by name.
func (b *bot) listSchedules(t *testing.T) map[string]schedule.Status {
	t.Helper()
	out := musttest.Get(programCommand(t, "schedules", "--json", "--config", b.cfg).Output())(t)
	var list []schedule.Status
	musttest.Do(t, json.Unmarshal(out, &list))
	all := map[string]schedule.Status{}
	for _, s := range list {
		all[s.Name] = s
	}
	return all
}

func TestSchedulesAreListedWhetherTheDaemonRunsOrNot(t *testing.T) {
	b := newBot(t)
	const leap = `"leap": {"cron": "0 12 29 2 *", "chat": "net:1", "text": "A leap day!"}`
	b.configure(t, scheduled(leap+`, "past": {"at": "2020-01-01T00:00:00Z", "chat": "net:1", "text": "Late!"}`))
	musttest.Do(t, os.RemoveAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot"))) // the daemon was never started
	all := b.listSchedules(t)
	wanttest.Equal(t, "the zone", all["leap"].Timezone, "Europe/Berlin")
	wanttest.Equal(t, "the next leap day", all["leap"].Next.Format("01-02T15:04:05Z07:00"), "02-29T12:00:00+01:00")
	b.program = startProgram(t, "serve", "--config", b.cfg)
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(5 * time.Millisecond) {
		if past := b.listSchedules(t)["past"]; len(past.Occurrences) == 1 {
			wanttest.Equal(t, "no next", past.Next, nil)
			wanttest.Equal(t, "due", past.Occurrences[0].Due.Format(time.RFC3339), "2020-01-01T01:00:00+01:00")
			wanttest.Equal(t, "outcome", past.Occurrences[0].Outcome, store.Skipped)
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the time that had passed is not accounted for")
		}
	}
	out := musttest.Get(b.runCommand("schedules"))(t)
	for _, want := range []string{"NAME", "leap", "-02-29T12:00:00+01:00", "past", "never again", "skipped (the time had passed"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
	out, _ = b.runCommand("doctor", "--no-turn", "--json")
	if !strings.Contains(out, `leap: 20`) || strings.Count(out, "-02-29T12:00:00+01:00") != 3 {
		t.Errorf("doctor does not show the next three occurrences: %s", out)
	}
	b.configure(t, scheduled(leap))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	for deadline := time.Now().Add(waitTimeout); len(b.listSchedules(t)) != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the reload did not remove the schedule")
		}
	}
}

func TestASchedulesAgentWorksInItsChat(t *testing.T) {
	b := startBot(t, scheduled(`"work": {"cron": "* * * * * *", "chat": "net:5", "agent": "default", "text": "Work.", "say": "always"}`))
	b.awaitText("5", "worked")
}

// TestSchedulesAccountForEverySecondOfAKilledDaemon kills the daemon at due times and keeps it down
// over several. With NANOBOT_LONG=1 there are 60 kills. On a slow machine there are more, until
// each schedule has caught up: it does not while its previous occurrence still runs.
func TestSchedulesAccountForEverySecondOfAKilledDaemon(t *testing.T) {
	t.Parallel()
	kills := killtest.Rounds(t, 4, 60)
	b := newBot(t)
	b.net.Idempotent = true // so that a send whose outcome is unknown is not shown twice
	b.configure(t, scheduled(`"tick": {"cron": "* * * * * *", "chat": "net:1", "text": "tick"},
		"work": {"cron": "* * * * * *", "chat": "net:2", "agent": "default", "text": "Work.", "say": "always"}`))
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.awaitText("1", "tick")
	openState := func() *sqlite.Store {
		return musttest.Get(sqlite.Open(t.Context(), filepath.Join(filepath.Dir(b.cfg), ".nanobot"), sqlite.Options{}))(t)
	}
	caughtUp := func() bool {
		s := openState()
		defer s.Close()
		return countOutcomes(t, s, "tick")[store.CaughtUp] > 0 && countOutcomes(t, s, "work")[store.CaughtUp] > 0
	}
	for round, done := 1, false; !done; round++ {
		// Around the next due time, or anywhere in the second.
		wait := time.Until(time.Now().Truncate(time.Second).Add(time.Second)) + time.Duration(rand.IntN(30))*time.Millisecond
		if rand.IntN(3) == 0 {
			wait = time.Duration(rand.IntN(1000)) * time.Millisecond
		}
		time.Sleep(wait)
		b.child.Kill()
		time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond)
		done = round >= kills && (round >= 5*kills || caughtUp())
		b.program = startProgram(t, "serve", "--config", b.cfg)
		if rand.IntN(3) > 0 {
			b.awaitLog("ready")
		}
	}
	b.awaitLog("ready")
	time.Sleep(1200 * time.Millisecond) // one more
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	s := openState()
	defer s.Close()
	ticks := checkEverySecond(t, s, "tick")
	sent := b.net.Sent("1")
	wanttest.Equal(t, "ticks on the network", len(sent), ticks)
	worked := checkEverySecond(t, s, "work")
	turns := musttest.Get(s.Turns(t.Context(), store.TurnFilter{Chat: channels.Chat{Channel: "net", ID: "2"}, Limit: 1000}))(t)
	wanttest.Equal(t, "turns", len(turns), worked)
}

// checkEverySecond requires that each second has one occurrence, explained if it did not run, and
// returns how many have caused a message.
func checkEverySecond(t *testing.T, s *sqlite.Store, name string) (caused int) {
	t.Helper()
	all := musttest.Get(s.Occurrences(t.Context(), name, 1000))(t)
	inbounds := map[int64]bool{}
	for i, o := range all {
		if i > 0 && all[i-1].Due.Sub(o.Due) != time.Second {
			t.Errorf("%s: after %s comes %s", name, o.Wall, all[i-1].Wall)
		}
		if (o.Outcome == store.Ran) != (o.Reason == "") || (o.Outcome == store.Skipped) != (o.Inbound == 0) ||
			inbounds[o.Inbound] && o.Inbound != 0 {
			t.Errorf("%s: %+v", name, o)
		}
		if inbounds[o.Inbound] = true; o.Inbound != 0 {
			caused++
		}
	}
	outcomes := countOutcomes(t, s, name)
	if outcomes[store.Ran] == 0 || outcomes[store.CaughtUp] == 0 {
		t.Errorf("%s: %v", name, outcomes)
	}
	t.Log(name, fmt.Sprint(outcomes))
	return caused
}

func countOutcomes(t *testing.T, s *sqlite.Store, schedule string) map[store.OccurrenceOutcome]int {
	t.Helper()
	count := map[store.OccurrenceOutcome]int{}
	for _, o := range musttest.Get(s.Occurrences(t.Context(), schedule, 1000))(t) {
		count[o.Outcome]++
	}
	return count
}

func TestRemindersAndTheirOccurrencesSurviveABackupAndARestore(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.UserSends(7, "/remind 1s soon")
	b.api.WaitForText(t, 7, "⏰ soon")
	b.api.UserSends(7, "/remind 6s later")
	b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return len(all) > 0 && strings.HasPrefix(all[len(all)-1].TextOrCaption(), "I will remind you") && len(all) > 2
	})
	file := filepath.Join(t.TempDir(), "backup")
	mustRunProgram(t, "backup", "--config", b.cfg, file)
	b.restart(syscall.SIGTERM, func() {
		musttest.Do(t, os.RemoveAll(filepath.Join(filepath.Dir(b.cfg), ".nanobot")))
		mustRunProgram(t, "restore", "--config", b.cfg, file)
	})
	b.api.WaitForText(t, 7, "⏰ later")
	wanttest.Equal(t, "reminders that came again", strings.Count(strings.Join(b.texts(7), "\n"), "⏰ soon"), 1)
}
