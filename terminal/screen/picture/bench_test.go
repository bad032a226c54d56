package picture_test

import (
	"bytes"
	"testing"

	"nanobot/terminal/screen"
	"nanobot/terminal/screen/picture"
)

// BenchmarkEncode draws a full screen of 160×40 and reports the size of the picture.
func BenchmarkEncode(b *testing.B) {
	s := screen.New(160, 40)
	for range 20 {
		if _, err := s.Write([]byte(characters + "\r\n")); err != nil {
			b.Fatal(err)
		}
	}
	n := s.Snapshot()
	var size int
	for b.Loop() {
		var data bytes.Buffer
		if err := picture.Encode(&data, n); err != nil {
			b.Fatal(err)
		}
		size = data.Len()
	}
	b.ReportMetric(float64(size)/1024, "KiB")
}
