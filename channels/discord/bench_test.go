package discord_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

// BenchmarkSend sends one text to a server on loopback: through the channel, as a plain POST of the
// same JSON, and one after the other for the ratio of the two.
func BenchmarkSend(b *testing.B) {
	for name, measure := range map[string]func(b *testing.B, send, post func(n int)){
		"channel": func(b *testing.B, send, _ func(n int)) {
			for n := 0; b.Loop(); n++ {
				send(n)
			}
		},
		"post": func(b *testing.B, _, post func(n int)) {
			for n := 0; b.Loop(); n++ {
				post(n)
			}
		},
		"ratio": func(b *testing.B, send, post func(n int)) {
			var sends, posts []time.Duration
			for n := 0; b.Loop(); n++ {
				began := time.Now()
				send(n)
				middle := time.Now()
				post(n)
				sends, posts = append(sends, middle.Sub(began)), append(posts, time.Since(middle))
			}
			slices.Sort(sends)
			slices.Sort(posts)
			b.ReportMetric(float64(sends[len(sends)/2])/float64(posts[len(posts)/2]), "×post")
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			s := discordtest.New(b)
			s.SetLimit(discordtest.CreateMessage, 1_000_000, time.Minute)
			send, post := senders(b, s, s.DM(ada).ID)
			measure(b, send, post)
		})
	}
}

// senders returns functions that send the n-th text through the channel and as a plain POST.
func senders(b *testing.B, s *discordtest.Server, chat string) (send, post func(n int)) {
	client := &http.Client{Transport: &http.Transport{}}
	b.Cleanup(client.CloseIdleConnections)
	ch := musttest.Get(discord.New(discord.Options{
		Token: s.Token, APIBase: s.URL, Client: client, Unpaced: true, Folder: channelstest.ChatFolders(b.TempDir(), "media"),
	}))(b)
	send = func(n int) {
		o := channels.Outgoing{Chat: chatOf(chat), Text: fmt.Sprint("hello ", n)}
		musttest.Get(ch.Send(b.Context(), o))(b)
	}
	post = func(n int) {
		const body = `{"content":"hello %d","allowed_mentions":{"parse":[],"replied_user":false},"components":null,"nonce":"post-%d","enforce_nonce":true}`
		req := musttest.Get(http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL+"/api/v10/channels/"+chat+"/messages",
			strings.NewReader(fmt.Sprintf(body, n, n))))(b)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bot "+s.Token)
		req.Header.Set("User-Agent", "DiscordBot (benchmark, 1)")
		resp := musttest.Get(client.Do(req))(b)
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%s %v: %s", resp.Status, err, text)
		}
	}
	return send, post
}
