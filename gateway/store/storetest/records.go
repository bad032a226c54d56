package storetest

import (
	"strconv"
	"sync"
	"sync/atomic"
)

var recordTests = []test{
	{"there are no records at first", func(b *bench) {
		b.equal("the record", b.record("a"), "")
		b.equal("all records", b.records(""), "map[]")
	}},
	{"what is saved last is there after a restart, and nothing is removed by nothing", func(b *bench) {
		b.must(b.SaveRecords(ctx, map[string]string{"a/1": "first", "a/2": "x", "b/1": "other"}))
		b.must(b.SaveRecords(ctx, map[string]string{"a/1": "second", "a/2": "", "a/3": ""}))
		b.reopen()
		b.equal("the record", b.record("a/1"), "second")
		b.equal("the records of a", b.records("a/"), "map[a/1:second]")
		b.equal("all records", b.records(""), "map[a/1:second b/1:other]")
	}},
	{"prefixes are taken as they are", func(b *bench) {
		b.must(b.SaveRecords(ctx, map[string]string{"a%b": "1", "axb": "2", "a_b": "3", "ä": "4", "A%b": "5"}))
		b.equal("the records", b.records("a%"), "map[a%b:1]")
		b.equal("the records", b.records("ä"), "map[ä:4]")
	}},
	{"a record is swapped only if it is the old one", func(b *bench) {
		b.equal("a swap of what is not there", b.swap("a", "old", "new"), false)
		b.equal("a swap of nothing", b.swap("a", "", "first"), true)
		b.equal("a second one", b.swap("a", "", "second"), false)
		b.equal("a removal", b.swap("a", "first", ""), true)
		b.equal("a second removal", b.swap("a", "first", ""), false)
		b.reopen()
		b.equal("the record", b.record("a"), "")
	}},
	{"records are begun once, all of them", func(b *bench) {
		begun, err := b.InitRecords(ctx, "key", map[string]string{"key": "1", "a": "2"})
		b.must(err)
		b.equal("the first time", begun, true)
		b.must(b.SaveRecords(ctx, map[string]string{"a": ""}))
		b.reopen()
		begun, err = b.InitRecords(ctx, "key", map[string]string{"key": "3", "a": "4"})
		b.must(err)
		b.equal("the second time", begun, false)
		b.equal("the records", b.records(""), "map[key:1]")
	}},
	{"of many who swap the same record, in two handles, one succeeds", func(b *bench) {
		other := b.beside()
		for i := range 10 {
			key := strconv.Itoa(i)
			b.must(b.SaveRecords(ctx, map[string]string{key: "open"}))
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
			b.equal("how many won", won.Load(), 1)
		}
	}},
}

func (b *bench) record(key string) string {
	b.Helper()
	value, err := b.LoadRecord(ctx, key)
	b.must(err)
	return value
}

func (b *bench) records(prefix string) map[string]string {
	b.Helper()
	values, err := b.ListRecords(ctx, prefix)
	b.must(err)
	return values
}

func (b *bench) swap(key, old, value string) bool {
	b.Helper()
	ok, err := b.SwapRecord(ctx, key, old, value)
	b.must(err)
	return ok
}
