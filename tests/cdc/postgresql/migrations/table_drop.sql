-- A table goes, and with it what refers to it.
-- before
CREATE TABLE feature (id int PRIMARY KEY);
CREATE TABLE usage (id int PRIMARY KEY, feature_id int REFERENCES feature);
INSERT INTO feature VALUES (1);
INSERT INTO usage VALUES (1, 1);
-- migration
DROP TABLE feature CASCADE;
-- after
UPDATE usage SET feature_id = NULL;
