package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/access"
	"nanobot/config"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

func TestRevokingAccessWaitsForTheTurnOfAMemberOnAnotherMachine(t *testing.T) {
	ctx := context.Background()
	bot := "revoke" + strings.ToLower(rand.Text())
	options := func(name string) postgres.Options {
		dir := t.TempDir()
		return postgres.Options{
			URL: postgrestest.URL(t), Bot: bot, Name: name, TTL: time.Minute, Dir: dir,
			Spool: filepath.Join(dir, "spool"), Command: name == "here",
		}
	}
	elsewhere := musttest.Get(postgres.Open(ctx, options("elsewhere")))(t)
	t.Cleanup(func() { _ = elsewhere.Close() })
	person := store.Person{Channel: "net", User: "7"}
	_, _, err := elsewhere.Admit(ctx, person, time.Hour)
	musttest.Do(t, err)
	in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "c"}, ID: "1", Text: "hi", User: channels.User{ID: "7"}}
	received := musttest.Get(elsewhere.Receive(ctx, store.ReceiveRequest{In: in, Claim: true}))(t)
	asked, finished := make(chan struct{}), make(chan error, 1)
	go func() {
		<-asked
		_, err := elsewhere.Finish(ctx, received.Inbound.ID, store.Done, store.Outcome{Status: "revoked"})
		finished <- err
	}()
	cfg := &config.Config{}
	cfg.Gateway.Store, cfg.Gateway.StateDir = "postgres://", filepath.Join(t.TempDir(), "none")
	var out bytes.Buffer
	musttest.Do(t, access.Revoke(ctx, access.Options{
		Config: cfg, Out: &out, Err: io.Discard, Record: func(string, store.Pairing) {},
		OpenStore: func(ctx context.Context) (store.Store, error) {
			s, err := postgres.Open(ctx, options("here"))
			return &askedStore{Store: s, asked: asked}, err
		},
	}, person, false))
	select {
	case <-asked:
		musttest.Do(t, <-finished)
	default:
		t.Error("revoke did not wait for the turn")
	}
	if !strings.Contains(out.String(), "no longer has access.\n") {
		t.Errorf("got %q", &out)
	}
}

// askedStore closes a channel when Dismissed has returned a running turn for the second time.
type askedStore struct {
	store.Store
	asked chan struct{}
	times int
}

func (s *askedStore) Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error) {
	inbounds, deliveries, err = s.Store.Dismissed(ctx)
	if s.times++; s.times == 2 && len(inbounds) == 1 {
		close(s.asked)
	}
	return inbounds, deliveries, err
}
