-- The member that has recorded a transient message. The owner of older rows is gone.
ALTER TABLE transient ADD COLUMN owner TEXT NOT NULL DEFAULT '';
