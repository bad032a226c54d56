package words

import "maps"

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

// texts has all texts.
var texts = merge(areas)

func merge(areas []map[Key]translations) map[Key]translations {
	all := map[Key]translations{}
	for _, area := range areas {
		maps.Copy(all, area)
	}
	return all
}
