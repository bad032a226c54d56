package words

// areas are the texts by the part of the program that uses them.
var areas = []map[Key]translations{
	intakeTexts, channelsTexts, filesTexts, turnTexts,
	acpTexts, acpTurnTexts, acpBoardTexts,
	acpQuestionTexts,
	signInTexts,
	pageTexts,
	blocksTexts,
	keysTexts,
	chatTexts,
	runbookTexts,
}

// lookup returns a text. The areas are few, so no second map of all texts is needed.
func lookup(k Key) translations {
	for _, area := range areas {
		if t, ok := area[k]; ok {
			return t
		}
	}
	return translations{}
}
