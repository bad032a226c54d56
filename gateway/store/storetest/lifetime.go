package storetest

import (
	"context"
	"errors"

	"nanobot/gateway/store"
)

var lifetimeTests = []contractTest{
	{"a call with a cancelled context changes nothing", func(b *fixture) {
		ended, end := context.WithCancel(ctx)
		end()
		_, err := b.Receive(ended, store.ReceiveRequest{In: incoming(ann, "1")})
		if !errors.Is(err, context.Canceled) {
			b.Fatalf("got %v", err)
		}
		b.equal("how many wait", b.countWaiting(ann), 0)
	}},
	{"Close may be called twice", func(b *fixture) {
		b.noError(b.Close())
		b.noError(b.Close())
	}},
	{"calls after Close fail", func(b *fixture) {
		b.noError(b.Close())
		if _, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "1")}); err == nil {
			b.Error("a write succeeded")
		}
		if _, err := b.Cursor(ctx, "net"); err == nil {
			b.Error("a read succeeded")
		}
	}},
	{"calls during Close report what really happened", func(b *fixture) {
		stored := make([]bool, parallelism)
		open := b.Store
		b.runParallel(func(n int) error {
			if n == parallelism/2 {
				return open.Close()
			}
			_, err := open.Receive(ctx, store.ReceiveRequest{In: incoming(ann, string(rune('A'+n)))})
			stored[n] = err == nil
			return nil
		})
		b.Store = b.open(b.T, Options{Dir: b.dir, Now: b.now})
		want := 0
		for _, ok := range stored {
			if ok {
				want++
			}
		}
		b.equal("how many wait", b.countWaiting(ann), want)
	}},
}
