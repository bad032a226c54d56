-- Whether an earlier try of a parcel may have been carried out. Until now the reason began with these words.
ALTER TABLE outbox ADD COLUMN doubtful INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET doubtful = 1 WHERE substr(reason, 1, 15) = 'outcome unknown';
