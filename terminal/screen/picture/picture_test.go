package picture_test

import (
	"bytes"
	"image/png"
	"testing"

	"nanobot/terminal/screen"
	"nanobot/terminal/screen/picture"
)

func TestAPictureHasTheSizeOfTheScreen(t *testing.T) {
	s := screen.New(80, 24)
	if _, err := s.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := picture.Encode(&b, s.Snapshot()); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 800 || size.Y != 480 {
		t.Errorf("the picture has %v pixels", size)
	}
}
