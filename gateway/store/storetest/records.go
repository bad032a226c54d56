package storetest

import (
	"strconv"
	"sync"
	"sync/atomic"
)

var recordTests = []contractTest{
	{"there are no records at first", func(b *fixture) {
		b.equal("the record", b.record("a"), "")
		b.equal("all records", b.records(""), "map[]")
	}},
	{"the last value of a record is there after a restart, and an empty value removes its key", func(b *fixture) {
		b.noError(b.SaveRecords(ctx, map[string]string{"a/1": "first", "a/2": "x", "b/1": "other"}))
		b.noError(b.SaveRecords(ctx, map[string]string{"a/1": "second", "a/2": "", "a/3": ""}))
		b.reopen()
		b.equal("the record", b.record("a/1"), "second")
		b.equal("the records of a", b.records("a/"), "map[a/1:second]")
		b.equal("all records", b.records(""), "map[a/1:second b/1:other]")
	}},
	{"prefixes are taken literally", func(b *fixture) {
		b.noError(b.SaveRecords(ctx, map[string]string{"a%b": "1", "axb": "2", "a_b": "3", "ä": "4", "A%b": "5"}))
		b.equal("the records", b.records("a%"), "map[a%b:1]")
		b.equal("the records", b.records("ä"), "map[ä:4]")
	}},
	{"a record is swapped only if it has the old value", func(b *fixture) {
		b.equal("a swap of a missing record", b.swap("a", "old", "new"), false)
		b.equal("a swap that creates it", b.swap("a", "", "first"), true)
		b.equal("a second one", b.swap("a", "", "second"), false)
		b.equal("a removal", b.swap("a", "first", ""), true)
		b.equal("a second removal", b.swap("a", "first", ""), false)
		b.reopen()
		b.equal("the record", b.record("a"), "")
	}},
	{"records are initialized once, all of them", func(b *fixture) {
		done, err := b.InitRecords(ctx, "key", map[string]string{"key": "1", "a": "2"})
		b.noError(err)
		b.equal("the first time", done, true)
		b.noError(b.SaveRecords(ctx, map[string]string{"a": ""}))
		b.reopen()
		done, err = b.InitRecords(ctx, "key", map[string]string{"key": "3", "a": "4"})
		b.noError(err)
		b.equal("the second time", done, false)
		b.equal("the records", b.records(""), "map[key:1]")
	}},
	{"of many concurrent swaps of the same record, by two handles, one succeeds", func(b *fixture) {
		other := b.openSecond()
		for i := range 10 {
			key := strconv.Itoa(i)
			b.noError(b.SaveRecords(ctx, map[string]string{key: "open"}))
			var won atomic.Int32
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					s := b.Store
					if n%2 == 0 {
						s = other
					}
					ok, err := s.SwapRecord(ctx, key, "open", "")
					if err != nil {
						b.Error(err)
					}
					if ok {
						won.Add(1)
					}
				})
			}
			all.Wait()
			b.equal("how many succeeded", won.Load(), 1)
		}
	}},
}

func (b *fixture) record(key string) string {
	b.Helper()
	value, err := b.LoadRecord(ctx, key)
	b.noError(err)
	return value
}

func (b *fixture) records(prefix string) map[string]string {
	b.Helper()
	values, err := b.ListRecords(ctx, prefix)
	b.noError(err)
	return values
}

func (b *fixture) swap(key, old, value string) bool {
	b.Helper()
	ok, err := b.SwapRecord(ctx, key, old, value)
	b.noError(err)
	return ok
}
