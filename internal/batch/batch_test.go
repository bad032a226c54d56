package batch_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"nanobot/internal/batch"
	"nanobot/internal/wanttest"
)

func TestCallersThatArriveDuringABatchShareTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, goOn := make(chan struct{}), make(chan struct{})
		var sizes []int
		q := batch.New(3, func(b []int) {
			if sizes = append(sizes, len(b)); len(sizes) == 1 {
				close(begun)
				<-goOn
			}
		})
		var all sync.WaitGroup
		all.Go(func() { q.Do(0) })
		<-begun
		for i := range 7 {
			all.Go(func() { q.Do(i + 1) })
		}
		synctest.Wait()
		close(goOn)
		all.Wait()
		if len(sizes) != 4 || sizes[0] != 1 || sizes[1] != 3 || sizes[2] != 3 || sizes[3] != 1 {
			t.Errorf("the batches had %v", sizes)
		}
	})
}

func TestEachItemIsExecutedOnceAndBatchesRunOneAtATime(t *testing.T) {
	var busy atomic.Int32
	done := map[int]int{}
	q := batch.New(8, func(b []int) {
		if busy.Add(1) != 1 {
			t.Error("two at once")
		}
		for _, x := range b {
			done[x]++
		}
		busy.Add(-1)
	})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 200 {
				if !q.Do(g*200 + i) {
					t.Error("refused")
				}
			}
		})
	}
	all.Wait()
	for x := range 3200 {
		if done[x] != 1 {
			t.Fatalf("%d was done %d times", x, done[x])
		}
	}
}

func TestCloseWaitsForSubmittedItemsAndRefusesLaterOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, goOn, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var done atomic.Int32
		q := batch.New(1, func(b []int) {
			if b[0] == 0 {
				close(begun)
				<-goOn
			}
			done.Add(1)
		})
		var all sync.WaitGroup
		all.Go(func() { q.Do(0) })
		<-begun
		all.Go(func() { q.Do(1) })
		synctest.Wait()
		go func() {
			q.Close()
			wanttest.Equal(t, "closed after … of 2:", done.Load(), 2)
			close(closed)
		}()
		synctest.Wait()
		close(goOn)
		<-closed
		all.Wait()
		if q.Do(2) || done.Load() != 2 {
			t.Error("something was done after the end")
		}
	})
}
