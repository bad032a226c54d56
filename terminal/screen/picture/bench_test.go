package picture_test

import (
	"bytes"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/terminal/screen"
	"nanobot/terminal/screen/picture"
)

// BenchmarkEncode draws a full screen of 160×40 and reports the size of the picture.
func BenchmarkEncode(b *testing.B) {
	s := screen.New(160, 40)
	for range 20 {
		musttest.Get(s.Write([]byte(characters + "\r\n")))(b)
	}
	n := s.Snapshot()
	var size int
	for b.Loop() {
		var data bytes.Buffer
		musttest.Get(picture.Encode(&data, n, nil))(b)
		size = data.Len()
	}
	b.ReportMetric(float64(size)/1024, "KiB")
}
