package discord_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"

	"nanobot/internal/musttest"
)

// These tests show how the rate limiter of github.com/bwmarrin/discordgo waits, and so why
// ratelimits.go exists.

// newOfflineSession returns a session of the library whose calls are answered by a function.
func newOfflineSession(t *testing.T, answer roundTrip) *discordgo.Session {
	t.Helper()
	d := musttest.Get(discordgo.New("Bot token"))(t)
	d.Client.Transport = answer
	return d
}

// okResponse returns a response with an empty object.
func okResponse(req *http.Request, header http.Header) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: req}
}

// A send that is told to end, or whose chat waits, must not go on waiting.
func TestTheLibraryWaitsForARateLimitWhenItsContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newOfflineSession(t, func(req *http.Request) (*http.Response, error) {
			if err := req.Context().Err(); err != nil {
				return nil, err
			}
			return okResponse(req, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset-After": {"60"}}), nil
		})
		musttest.Get(d.ChannelMessageSend("1", "one"))(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_, err := d.ChannelMessageSend("1", "two", discordgo.WithContext(ctx))
		if took := time.Since(began); err == nil || took != time.Minute {
			t.Errorf("it took %s (%v)", took, err)
		}
	})
}

// One call that hangs must not hold up the others of its bucket, for which there may be room.
func TestTheLibraryLocksABucketDuringItsCall(t *testing.T) {
	var d *discordgo.Session
	locked := false
	d = newOfflineSession(t, func(req *http.Request) (*http.Response, error) {
		bucket := d.Ratelimiter.GetBucket(discordgo.EndpointChannelMessages("1"))
		if locked = !bucket.TryLock(); !locked {
			bucket.Unlock()
		}
		return okResponse(req, nil), nil
	})
	if _, err := d.ChannelMessageSend("1", "one"); err != nil || !locked {
		t.Errorf("the bucket is locked: %t (%v)", locked, err)
	}
}
