package channels

import "strings"

// Albums says how a network groups the files of a message.
type Albums struct {
	// Limit is the largest number of files in a group; a value below one means one. Telegram and
	// Discord accept 10.
	Limit int
	// Mixed means that a group can have every kind of file, as on Discord. Otherwise only images
	// and videos form groups and every other file is sent alone, as on Telegram.
	Mixed bool
	// Caption is the longest caption, counted by Measure (Telegram: 1024 UTF-16 units).
	Caption int
	Measure Measure
}

// Album is one group of files that is sent in one network call. Telegram accepts albums of 2 to 10
// items only, so a channel sends a group of one as a photo, video, audio file or document.
type Album struct {
	Caption string // for the first file only: Telegram shows a caption under an album if one item has it
	Files   []File
}

// Plan groups files in order. The text becomes the caption of the first group if it fits; otherwise
// Plan returns it as before, to be sent ahead of the files.
func (a Albums) Plan(text string, files []File) (before string, groups []Album) {
	var gathered, alone []File
	for _, f := range files {
		if a.Mixed || f.Kind == Image || f.Kind == Video {
			gathered = append(gathered, f)
		} else {
			alone = append(alone, f)
		}
	}
	groups = append(groupFiles(gathered, a.Limit), groupFiles(alone, 1)...)
	if strings.TrimSpace(text) == "" {
		return "", groups
	}
	if len(groups) == 0 || a.Measure(text) > a.Caption {
		return text, groups
	}
	groups[0].Caption = text
	return "", groups
}

func groupFiles(files []File, limit int) []Album {
	limit = max(limit, 1)
	var groups []Album
	for len(files) > 0 {
		n := min(limit, len(files))
		groups = append(groups, Album{Files: files[:n:n]})
		files = files[n:]
	}
	return groups
}
