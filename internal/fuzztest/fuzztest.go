// Package fuzztest generates inputs for fuzz targets that run as ordinary tests. "go test" tries a
// few thousand fixed inputs; .ci/long searches for new ones, guided by coverage. It does not know
// the parsers under test.
package fuzztest

import (
	"math/rand/v2"
	"testing"
)

// pieces are strings that often break parsers.
var pieces = []string{
	"\x00", "\xff", "\xef\xbb\xbf", "\r\n", "\n", "\n\n", "\t", " ", "\u00a0", "\u200b", "\u202e", "e\u0301", "👩‍👩‍👧‍👦", "狐", `\`, `"`, "'", "`", "```", "*", "**", "_",
	"[", "](", ")", "<", ">", "&", "|", "#", "/", "//", "{", "}", ",", ":", "0", "-1", "1e400", "null", `\ud83d`, `\u0000`, "javascript:", "file://", "/a.png",
}

// Mutate returns n inputs, or a tenth of them with -short, made from seeds by cutting, repeating,
// joining and inserting pieces.
func Mutate(seeds []string, n int) []string {
	if testing.Short() {
		n /= 10
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]string, 0, n)
	for range n {
		s := []byte(seeds[r.IntN(len(seeds))])
		for range 1 + r.IntN(6) {
			s = mutate(r, s, seeds)
		}
		out = append(out, string(s[:min(len(s), 1<<12)]))
	}
	return out
}

func mutate(r *rand.Rand, s []byte, seeds []string) []byte {
	from, to := r.IntN(len(s)+1), r.IntN(len(s)+1)
	from, to = min(from, to), max(from, to)
	piece := pieces[r.IntN(len(pieces))]
	switch r.IntN(6) {
	case 0: // cut
		return append(append([]byte{}, s[:from]...), s[to:]...)
	case 1: // repeat
		return append(append(append([]byte{}, s[:to]...), s[from:to]...), s[to:]...)
	case 2: // join
		return append(append([]byte{}, s[:from]...), seeds[r.IntN(len(seeds))]...)
	case 3: // change a byte
		if len(s) > 0 {
			s = append([]byte{}, s...)
			s[r.IntN(len(s))] ^= 1 << r.IntN(8)
		}
		return s
	default: // insert a piece, or replace a range by one
		if r.IntN(2) == 0 {
			to = from
		}
		return append(append(append([]byte{}, s[:from]...), piece...), s[to:]...)
	}
}
