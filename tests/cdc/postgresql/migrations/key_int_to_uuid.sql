-- Whole numbers become uuids, in the table and in what refers to it.
-- loaded: player, team
-- before
CREATE TABLE team (id serial PRIMARY KEY, name text);
CREATE TABLE player (id serial PRIMARY KEY, team_id int REFERENCES team, name text);
INSERT INTO team (name) VALUES ('red'), ('blue');
INSERT INTO player (team_id, name) VALUES (1, 'ann'), (2, 'bob'), (NULL, 'cy');
-- migration
BEGIN;
ALTER TABLE team ADD COLUMN uid uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE player ADD COLUMN team_uid uuid;
UPDATE player SET team_uid = team.uid FROM team WHERE team.id = player.team_id;
ALTER TABLE player DROP COLUMN team_id;
ALTER TABLE team DROP CONSTRAINT team_pkey;
ALTER TABLE team DROP COLUMN id;
ALTER TABLE team RENAME COLUMN uid TO id;
ALTER TABLE team ADD PRIMARY KEY (id);
ALTER TABLE player RENAME COLUMN team_uid TO team_id;
ALTER TABLE player ADD FOREIGN KEY (team_id) REFERENCES team (id);
COMMIT;
-- after
INSERT INTO team (name) VALUES ('green');
UPDATE player SET team_id = (SELECT id FROM team WHERE name = 'green') WHERE name = 'cy';
