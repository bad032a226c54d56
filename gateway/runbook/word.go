package runbook

import "slices"

// Word is whose word a proof is.
type Word string

// The words, from the weakest to the strongest: an agent says so, nanobot has run the command
// itself, a person has decided.
const (
	WordOfAgent   Word = ByAgent
	WordOfGateway Word = ByGateway
	WordOfPerson  Word = "person"
)

var wordOrder = []Word{WordOfAgent, WordOfGateway, WordOfPerson}

// AtLeast reports whether a word is as strong as another one.
func (w Word) AtLeast(other Word) bool {
	return slices.Index(wordOrder, w) >= slices.Index(wordOrder, other)
}

// Word returns whose word the record is.
func (r *Record) Word() Word {
	if r.By == ByAgent || r.By == ByGateway {
		return Word(r.By)
	}
	return WordOfPerson
}

// CountWords counts the records by whose word they are. Records that cannot be read are left out.
func CountWords(records []Entry) map[Word]int {
	count := map[Word]int{}
	for _, e := range records {
		if r, err := e.Parse(); err == nil {
			count[r.Word()]++
		}
	}
	return count
}
