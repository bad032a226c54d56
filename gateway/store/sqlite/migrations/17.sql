-- What a text does that is none of a question's options: '': it waits for its turn, answers, dismisses.
ALTER TABLE question ADD COLUMN other_text TEXT NOT NULL DEFAULT '';
-- The commands that the options of a picker stand for, a JSON array; '': the question is no picker.
ALTER TABLE question ADD COLUMN commands TEXT NOT NULL DEFAULT '';
