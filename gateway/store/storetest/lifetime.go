package storetest

import (
	"context"
	"errors"

	"nanobot/gateway/store"
)

var lifetimeTests = []test{
	{"a caller whose time is up changes nothing", func(b *bench) {
		ended, end := context.WithCancel(ctx)
		end()
		_, err := b.Receive(ended, store.ReceiveRequest{In: incoming(ann, "1")})
		if !errors.Is(err, context.Canceled) {
			b.Fatalf("got %v", err)
		}
		b.equal("how many wait", b.waiting(ann), 0)
	}},
	{"closing twice is one close", func(b *bench) {
		b.must(b.Close())
		b.must(b.Close())
	}},
	{"what is asked after the close gets an error", func(b *bench) {
		b.must(b.Close())
		if _, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "1")}); err == nil {
			b.Error("a write succeeded")
		}
		if _, err := b.Cursor(ctx, "net"); err == nil {
			b.Error("a read succeeded")
		}
	}},
	{"callers at the moment of closing get an answer that holds", func(b *bench) {
		stored := make([]bool, crowd)
		open := b.Store
		b.together(func(n int) error {
			if n == crowd/2 {
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
		b.equal("how many wait", b.waiting(ann), want)
	}},
}
