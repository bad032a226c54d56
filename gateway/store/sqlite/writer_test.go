package sqlite

import (
	"context"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/musttest"
)

func TestAJobThatPanicsFailsAlone(t *testing.T) {
	ctx := context.Background()
	s := musttest.Get(Open(ctx, t.TempDir(), Options{}))(t)
	defer s.Close()
	var work sync.WaitGroup
	for i := range 200 {
		work.Go(func() {
			err := s.change(ctx, "try", func(t *tx) {
				if i%10 == 0 {
					panic("no")
				}
				setCursor(t, "net", "x")
			})
			if i%10 == 0 && (err == nil || !strings.Contains(err.Error(), "panic: no")) || i%10 != 0 && err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	work.Wait()
}
