package discord_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
)

func TestMissedEventsAreReceivedAfterAResume(t *testing.T) {
	for name, drop := range map[string]func(*discordtest.Server){
		"cut":             (*discordtest.Server).CutConnections,
		"reconnect":       (*discordtest.Server).RequestReconnect,
		"invalid":         func(s *discordtest.Server) { s.InvalidateSessions(true) },
		"an unknown code": func(s *discordtest.Server) { s.CloseConnections(4000) },
		"a restart":       func(s *discordtest.Server) { s.CloseConnections(1001) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.startConnected()
			r.server.UserSends(r.dm, ada, "one")
			r.WaitForMessages(1)
			history := len(r.server.Calls(discordtest.GetMessages))
			drop(r.server)
			r.server.UserSends(r.dm, ada, "two")
			wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"one", "two"})
			s := r.server.Stats()
			if s.Readies != 1 || s.Resumed == 0 {
				t.Errorf("the session was not resumed: %+v", s)
			}
			if n := len(r.server.Calls(discordtest.GetMessages)); n != history {
				t.Error("the history was asked for without need")
			}
		})
	}
}

func TestASessionThatIsOverIsStartedAgain(t *testing.T) {
	for name, drop := range map[string]func(*discordtest.Server){
		"invalid":        func(s *discordtest.Server) { s.InvalidateSessions(false) },
		"wrong sequence": func(s *discordtest.Server) { s.CloseConnections(4007) },
		"timed out":      func(s *discordtest.Server) { s.CloseConnections(4009) },
		"forgotten":      func(s *discordtest.Server) { s.ExpireSessions(); s.CutConnections() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.startConnected()
			r.server.UserSends(r.dm, ada, "one")
			r.WaitForMessages(1)
			drop(r.server)
			r.server.UserSends(r.dm, ada, "two")
			r.waitForSessions(2)
			r.server.UserSends(r.dm, ada, "three")
			wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(3)), []string{"one", "two", "three"})
		})
	}
}

func shortHandshake(o *discord.Options) { o.Timing.Handshake = time.Second }

func TestAHandshakeThatGoesWrongIsTriedAgain(t *testing.T) {
	for name, h := range map[string]discordtest.HandshakeFault{
		"refused": {RefuseStatus: 503}, "no greeting": {NoHello: true}, "silence": {NoReply: true}, "a request to reconnect": {Reconnect: true},
		"an invalid session": {InvalidSession: true}, "closed": {CloseCode: 4000}, "cut": {CutConnection: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestChannel(t, shortHandshake)
			r.server.QueueHandshakeFaults(h, h)
			r.startConnected()
			r.server.UserSends(r.dm, ada, "one")
			r.WaitForMessages(1)
			h.OnlyResume = h.RefuseStatus == 0 && !h.NoHello
			r.server.QueueHandshakeFaults(h, h)
			r.server.CutConnections()
			r.server.UserSends(r.dm, ada, "two")
			wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"one", "two"})
		})
	}
}

// A connection over which nothing comes any more looks well to the operating system.
func TestADeadConnectionIsDetected(t *testing.T) {
	t.Parallel()
	for name, die := range map[string]func(s *discordtest.Server, dead bool){
		"no answers to heartbeats": func(s *discordtest.Server, dead bool) { s.SetHeartbeatACK(!dead) },
		"silence":                  (*discordtest.Server).SetMuted,
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t, shortHandshake) // the next connection may begin in silence
			r.server.SetHeartbeatInterval(time.Second)
			r.server.SetReadTimeout(waitLimit) // the bot ends the connection, and not the server after a pause of the machine
			r.startConnected()
			r.server.UserSends(r.dm, ada, "one")
			r.WaitForMessages(1)
			closes := len(r.server.Stats().Closes)
			die(r.server, true)
			r.server.AwaitStats(t, func(s discordtest.Stats) bool { return slices.Contains(s.Closes[closes:], 4000) })
			die(r.server, false)
			r.server.UserSends(r.dm, ada, "two")
			wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"one", "two"})
		})
	}
}

func TestAHeartbeatIsSentWhenTheGatewayAsks(t *testing.T) {
	r := newTestChannel(t)
	r.startConnected()
	r.server.RequestHeartbeat()
	r.server.AwaitStats(t, func(s discordtest.Stats) bool { return s.Heartbeats > 0 })
}

func TestAPermanentRefusalNamesTheSettingToChange(t *testing.T) {
	for code, want := range map[int]string{
		4004: "channels.discord.token", 4010: "newer nanobot", 4011: "more servers", 4012: "newer nanobot", 4013: "newer nanobot",
		4014: "Message Content Intent",
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			r := newTestChannel(t)
			r.server.QueueHandshakeFaults(discordtest.HandshakeFault{CloseCode: code})
			err := r.Run(t.Context(), r.Recorder.Receive)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Run returned %v", err)
			}
			wanttest.Equal(t, "it was tried … times:", r.server.Stats().Identifies, 1)
		})
	}
}

func TestAnIntentThatIsSwitchedOffInThePortalIsNamed(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetPrivilegedIntents(0)
	if err := r.Run(t.Context(), r.Recorder.Receive); err == nil || !strings.Contains(err.Error(), "Privileged Gateway Intents → Message Content Intent") {
		t.Errorf("Run returned %v", err)
	}
}

// Discord counts sessions, so a bot that is permanently refused must not begin one after the other.
func TestAfterAPermanentRefusalTheNextRunWaits(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) { o.Timing.Refused = 300 * time.Millisecond })
	r.server.QueueHandshakeFaults(discordtest.HandshakeFault{CloseCode: 4014})
	began := time.Now() // before the refusal, so that a pause of this test shortens nothing
	if err := r.Run(t.Context(), r.Recorder.Receive); err == nil {
		t.Fatal("Run returned nil")
	}
	r.startConnected()
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("the next session was begun after %s", took)
	}
}

func TestSessionsAreBegunNoFasterThanDiscordAllows(t *testing.T) {
	t.Parallel()
	// The window is much shorter than what is waited for: on a busy machine one session may be
	// asked for late, and the next in time.
	pausetest.Try(t, time.Second, func() error {
		r := newTestChannel(t, func(o *discord.Options) { o.Timing.Identify = 2 * time.Second })
		r.server.SetStartLimit(discordtest.StartLimit{Total: 1000, Remaining: 1000, MaxConcurrency: 1, Window: 150 * time.Millisecond})
		r.startConnected()
		for i := range 2 {
			r.server.ExpireSessions()
			r.server.CutConnections()
			r.waitForSessions(i + 2)
		}
		if s := r.server.Stats(); s.Identifies != s.Readies {
			return fmt.Errorf("%d of %d sessions were asked for too early", s.Identifies-s.Readies, s.Identifies)
		}
		return nil
	})
}

func TestWhenNoSessionIsLeftItIsWaitedFor(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetStartLimit(discordtest.StartLimit{Total: 1, Remaining: 0, MaxConcurrency: 1, Window: time.Hour})
	r.start()
	r.WaitForLog("Discord allows no more sessions for now, will wait")
	wanttest.Equal(t, "sessions were begun:", r.server.Stats().Identifies, 0)
}

func TestTheBotLeavesWhenRunEnds(t *testing.T) {
	r := newTestChannel(t)
	stop := r.startConnected()
	stop()
	s := r.server.AwaitStats(t, func(s discordtest.Stats) bool { return s.Connected == 0 })
	if !slices.Contains(s.Closes, 1000) {
		t.Errorf("the connection was closed with %v", s.Closes)
	}
}
