package discord_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

// drops are all the ways in which a connection can end.
var drops = []func(s *discordtest.Server){
	(*discordtest.Server).CutConnections,
	(*discordtest.Server).RequestReconnect,
	func(s *discordtest.Server) { s.InvalidateSessions(true) },
	func(s *discordtest.Server) { s.InvalidateSessions(false) },
	func(s *discordtest.Server) { s.ExpireSessions(); s.CutConnections() },
	closeWith(1000), closeWith(1001), closeWith(4000), closeWith(4001), closeWith(4002), closeWith(4003), closeWith(4005), closeWith(4007),
	closeWith(4008), closeWith(4009),
	cutAndPlan(discordtest.HandshakeFault{RefuseStatus: 503}),
	cutAndPlan(discordtest.HandshakeFault{NoHello: true}),
	cutAndPlan(discordtest.HandshakeFault{NoReply: true}),
	cutAndPlan(discordtest.HandshakeFault{Reconnect: true}),
	cutAndPlan(discordtest.HandshakeFault{InvalidSession: true}),
	cutAndPlan(discordtest.HandshakeFault{CloseCode: 4000}),
	cutAndPlan(discordtest.HandshakeFault{CutConnection: true}),
	func(s *discordtest.Server) {
		s.SetHeartbeatACK(false)
		time.AfterFunc(500*time.Millisecond, func() { s.SetHeartbeatACK(true) })
	},
	func(s *discordtest.Server) {
		s.SetMuted(true)
		time.AfterFunc(500*time.Millisecond, func() { s.SetMuted(false) })
	},
	func(s *discordtest.Server) { // events are told twice
		s.SetEventCopies(func(string, json.RawMessage) int { return 2 })
		time.AfterFunc(50*time.Millisecond, func() { s.SetEventCopies(nil) })
		s.RequestReconnect()
	},
}

func closeWith(code int) func(*discordtest.Server) {
	return func(s *discordtest.Server) { s.CloseConnections(code) }
}

func cutAndPlan(h discordtest.HandshakeFault) func(*discordtest.Server) {
	return func(s *discordtest.Server) {
		s.QueueHandshakeFaults(h)
		s.CutConnections()
	}
}

// Connections are dropped in every way, one after the other, while people keep writing in all kinds
// of chats. That is done twice, or four times with NANOBOT_LONG=1.
func TestNothingIsLostOrRepeatedDuringManyDisconnects(t *testing.T) {
	t.Parallel()
	n := 2 * len(drops)
	if os.Getenv("NANOBOT_LONG") == "1" {
		n *= 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	r := newTestChannel(t, allGroups, func(o *discord.Options) { o.Timing.Handshake = time.Second })
	r.server.SetHeartbeatInterval(250 * time.Millisecond)
	r.startConnected()
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	thread := r.server.AddThread(ch, "a thread").ID
	post, _ := r.server.AddPost(r.server.AddForum(g.ID, "help").ID, ada, "a question", "0")
	chats := []string{r.dm, r.server.DM(bob).ID, ch, thread, post.ID}
	stop := make(chan struct{})
	var people sync.WaitGroup
	said := map[string]int{post.ID: 1}
	people.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				c := chats[i%len(chats)]
				user := ada
				if i%len(chats) == 1 {
					user = bob
				}
				r.server.UserSends(c, user, strconv.Itoa(said[c]))
				said[c]++
			}
		}
	})
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		drops[i%len(drops)](r.server)
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		r.server.AwaitReady(t)
	}
	close(stop)
	people.Wait()
	total := 0
	for _, n := range said {
		total += n
	}
	got := map[string][]string{}
	for _, in := range r.WaitForMessages(total) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for _, c := range chats {
		var want []string
		for i := range said[c] {
			want = append(want, fmt.Sprint(i))
		}
		if !slices.Equal(got[c], want) {
			t.Errorf("in %s were said %d messages, received %d: %.500q", c, len(want), len(got[c]), got[c])
		}
	}
	s := r.server.Stats()
	t.Logf("%d messages, %d connections, %d sessions, %d resumed", total, s.Connects, s.Readies, s.Resumed)
}
