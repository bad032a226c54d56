package channels

import "strings"

// Albums says how a network groups the files of a message.
type Albums struct {
	// Limit is the most files a group holds; less than one means one. Telegram and Discord take 10.
	Limit int
	// Mixed is for a network whose groups take every kind of file (Discord). Otherwise images and
	// videos are gathered and every other file goes alone, as Telegram wants it.
	Mixed bool
	// Caption is the most a caption may measure by Measure (Telegram: 1024 UTF-16 units).
	Caption int
	Measure Measure
}

// Album is one group of files that goes out in one network call. A group of one is no album to
// Telegram, which wants 2–10 items, but a single photo, video, audio or document.
type Album struct {
	Caption string // for the first file only: Telegram shows a caption under an album if one item has it
	Files   []File
}

// Plan groups files in order and finds the place for the text. The text is the caption of the first
// group if it fits; otherwise it comes back as before, to be sent ahead of the files.
func (a Albums) Plan(text string, files []File) (before string, groups []Album) {
	var gathered, alone []File
	for _, f := range files {
		if a.Mixed || f.Kind == Image || f.Kind == Video {
			gathered = append(gathered, f)
		} else {
			alone = append(alone, f)
		}
	}
	groups = append(inGroups(gathered, a.Limit), inGroups(alone, 1)...)
	if strings.TrimSpace(text) == "" {
		return "", groups
	}
	if len(groups) == 0 || a.Measure(text) > a.Caption {
		return text, groups
	}
	groups[0].Caption = text
	return "", groups
}

func inGroups(files []File, limit int) []Album {
	limit = max(limit, 1)
	var groups []Album
	for len(files) > 0 {
		n := min(limit, len(files))
		groups = append(groups, Album{Files: files[:n:n]})
		files = files[n:]
	}
	return groups
}
