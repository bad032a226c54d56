package discord_test

import (
	"net/http"
	"testing"
	"time"

	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

// Ids tell the time by Discord's clock; ours may be wrong, as on a small computer that has just
// been switched on.
func TestAWrongClockLosesNothing(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ours is late": 48 * time.Hour, "ours is early": -48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := discordtest.New(t)
			s.AdvanceClock(ahead)
			clock := func(o *discord.Options) {
				inner := o.Client.Transport
				o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
					resp, err := inner.RoundTrip(req)
					if err == nil {
						resp.Header.Set("Date", time.Now().Add(ahead+time.Minute).UTC().Format(http.TimeFormat))
					}
					return resp, err
				})
			}
			r := newTestChannelOn(t, s, t.TempDir(), allGroups, clock)
			g := s.AddGuild("home")
			ch := s.AddChannel(g.ID, "general").ID
			s.UserSends(ch, ada, "just talk")
			s.UserSends(r.dm, ada, "hello")
			s.AdvanceClock(time.Minute)
			stop := r.start()
			wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(1)), []string{"hello"})
			stop()
			s.UserSends(r.dm, ada, "meanwhile")
			next := r.restart(allGroups, clock)
			next.start()
			if got := next.waitForNewMessages(r, 1); got[0].Text != "meanwhile" {
				t.Errorf("got %q", textsOf(got))
			}
		})
	}
}
