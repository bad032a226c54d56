-- A message that waits for further messages of the same person is not claimed before this time; 0: it does not wait. A chat in
-- the line has the time of its oldest pending message.
ALTER TABLE inbox ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE line ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
CREATE INDEX inbox_gathering ON inbox (chat, id) WHERE state = 'pending' AND not_before > 0;
