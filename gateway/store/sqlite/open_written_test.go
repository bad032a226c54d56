package sqlite_test

import (
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// TestAStateThatIsBeingWrittenIsNotDamaged opens a state while another handle changes its index.
func TestAStateThatIsBeingWrittenIsNotDamaged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir, sqlite.Options{})
	defer closeStore(t, s)
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: fmt.Sprint(n)}, ID: "1", Text: fmt.Sprintf("some words %d and %d others", n, 7*n)}
			if _, err := s.Receive(ctx, store.ReceiveRequest{In: in, Claim: true}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 150 {
		closeStore(t, musttest.Get(sqlite.Open(ctx, dir, sqlite.Options{Shared: true}))(t))
	}
	close(stop)
	<-ended
}
