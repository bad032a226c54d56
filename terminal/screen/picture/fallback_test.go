package picture_test

import (
	"bytes"
	"os"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
	"nanobot/terminal/screen/picture"
)

func TestAPictureNamesTheCharactersThatNoFontHas(t *testing.T) {
	t.Parallel()
	s := screen.New(20, 2)
	_, _ = s.Write([]byte("plain 日本日 ☃ 🙂"))
	var without, with bytes.Buffer
	missing := musttest.Get(picture.Encode(&without, s.Snapshot(), []string{"/nowhere/a.ttf", "/proc/self/status"}))(t)
	wanttest.Equal(t, "missing are", string(missing), "日本☃🙂")
	system := picture.SystemFonts[:1]
	if _, err := os.Stat(system[0]); err != nil {
		t.Skip("the font of fonts-dejavu-core is not installed")
	}
	missing = musttest.Get(picture.Encode(&with, s.Snapshot(), system))(t)
	wanttest.Equal(t, "missing with a font of the system are", string(missing), "日本🙂")
	if bytes.Equal(with.Bytes(), without.Bytes()) {
		t.Error("the font of the system is not drawn")
	}
}
