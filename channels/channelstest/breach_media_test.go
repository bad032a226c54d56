package channelstest

import (
	"context"
	"path/filepath"
	"slices"

	"nanobot/channels"
)

var everyFileCheck = []string{
	"files of every kind arrive with their names",
	"many files arrive in order",
	"text and files of one message all arrive",
	"two files of the same name both arrive",
}

func dropFiles(drop func(f channels.File) bool) func(m *channels.Message) {
	return func(m *channels.Message) { m.Media = slices.DeleteFunc(m.Media, drop) }
}

var mediaBreaches = []breach{
	{
		name:  "a file without extension is dropped",
		fails: []string{"files of every kind arrive with their names"},
		build: changeMessage(dropFiles(func(f channels.File) bool { return filepath.Ext(f.Name) == "" })),
	},
	{
		name:  "names are reduced to ASCII",
		fails: []string{"files of every kind arrive with their names"},
		build: changeMessage(func(m *channels.Message) {
			for i, f := range m.Media {
				var ascii []rune
				for _, r := range f.Name {
					if r < 128 {
						ascii = append(ascii, r)
					}
				}
				m.Media[i].Name = string(ascii)
			}
		}),
	},
	{
		name:  "files that do not fit into one album are dropped",
		fails: []string{"many files arrive in order"},
		build: changeMessage(func(m *channels.Message) { m.Media = m.Media[:min(len(m.Media), maxFiles)] }),
	},
	{
		name:  "large albums are reversed",
		fails: []string{"many files arrive in order"},
		build: changeMessage(func(m *channels.Message) {
			if len(m.Media) > maxFiles {
				slices.Reverse(m.Media)
			}
		}),
	},
	{
		name:  "a text too long for a caption is dropped",
		fails: []string{"text and files of one message all arrive"},
		build: changeMessage(func(m *channels.Message) {
			if len(m.Media) > 0 && len(m.Text) > maxRunes {
				m.Text = ""
			}
		}),
	},
	{
		name:  "of two files of the same name the second is dropped",
		fails: []string{"two files of the same name both arrive"},
		build: changeMessage(func(m *channels.Message) {
			m.Media = slices.CompactFunc(m.Media, func(a, b channels.File) bool { return a.Name == b.Name })
		}),
	},
	{
		name:  "two files of the same name get the same content",
		fails: []string{"two files of the same name both arrive"},
		build: changeMessage(func(m *channels.Message) {
			first := map[string]string{}
			for i, f := range m.Media {
				if _, ok := first[f.Name]; !ok {
					first[f.Name] = f.Path
				}
				m.Media[i].Path = first[f.Name]
			}
		}),
	},
	{
		name:  "a file without a path is dropped",
		fails: []string{"a file that is only content arrives with its name"},
		build: changeMessage(dropFiles(func(f channels.File) bool { return f.Path == "" })),
	},
	{
		name:  "a file without a path arrives empty",
		fails: []string{"a file that is only content arrives with its name"},
		build: changeMessage(func(m *channels.Message) {
			for i := range m.Media {
				m.Media[i].Content = ""
			}
		}),
	},
	{
		name:  "files are named as on disk",
		fails: append([]string{"no text and no file name reverses the direction of other text"}, everyFileCheck...),
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			o.Media = slices.Clone(o.Media)
			for i, m := range o.Media {
				if m.Path != "" {
					o.Media[i].Name = filepath.Base(m.Path)
				}
			}
			return f.Send(ctx, o)
		}),
	},
	{
		name:  "files arrive empty",
		fails: slices.Concat(everyFileCheck, []string{namesMissing}),
		build: replaceSend(func(ctx context.Context, f fakeChannel, o channels.Outgoing) (channels.Receipt, error) {
			o.Media = slices.Clone(o.Media)
			for i := range o.Media {
				o.Media[i].Path = ""
			}
			return f.Send(ctx, o)
		}),
	},
}
