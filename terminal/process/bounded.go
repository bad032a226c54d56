package process

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounded keeps the first bytes and the last bytes that are written to it and counts the rest, so
// that any amount of output costs a fixed amount of memory. It is not safe for concurrent use.
type Bounded struct {
	headMax, tailMax int
	head             []byte
	tail             []byte // a ring once it has reached tailMax
	next             int    // where the ring's oldest byte is
	total            int64
}

// NewBounded returns a Bounded that keeps the first head and the last tail bytes.
func NewBounded(head, tail int) *Bounded { return &Bounded{headMax: head, tailMax: tail} }

// Write keeps what fits. It never fails.
func (b *Bounded) Write(p []byte) (int, error) {
	n := len(p)
	b.total += int64(n)
	if room := b.headMax - len(b.head); room > 0 {
		k := min(room, len(p))
		b.head = append(b.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > b.tailMax {
		p = p[len(p)-b.tailMax:]
	}
	if room := b.tailMax - len(b.tail); room > 0 {
		k := min(room, len(p))
		b.tail = append(b.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(b.tail[b.next:], p)
		b.next = (b.next + k) % len(b.tail)
		p = p[k:]
	}
	return n, nil
}

// Len returns how many bytes were written.
func (b *Bounded) Len() int64 { return b.total }

// Omitted returns how many bytes were written and not kept.
func (b *Bounded) Omitted() int64 { return b.total - int64(len(b.head)+len(b.tail)) }

// Head returns the first bytes that were kept.
func (b *Bounded) Head() []byte { return b.head }

// Tail returns a copy of the last bytes that were kept.
func (b *Bounded) Tail() []byte {
	return append(append(make([]byte, 0, len(b.tail)), b.tail[b.next:]...), b.tail[:b.next]...)
}

// String returns what was kept. Where bytes are missing it says how many, and cuts no character in
// two.
func (b *Bounded) String() string {
	tail := b.Tail()
	if b.Omitted() == 0 {
		return string(b.head) + string(tail)
	}
	head := TrimPartialRune(b.head)
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	var s strings.Builder
	if len(head) > 0 {
		s.Write(head)
		s.WriteByte('\n')
	}
	fmt.Fprintf(&s, "[… %d bytes left out …]\n", b.total-int64(len(head)+len(tail)))
	s.Write(tail)
	return s.String()
}

// TrimPartialRune drops a character at the end of which only the first bytes are there.
func TrimPartialRune(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return p[:i]
			}
			return p
		}
	}
	return p
}
