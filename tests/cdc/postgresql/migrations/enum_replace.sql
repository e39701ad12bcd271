-- Prisma: a new type in place of the old one.
-- loaded: User
-- before
CREATE TYPE "Role" AS ENUM ('USER', 'STAFF', 'ROOT');
CREATE TABLE "User" (id int PRIMARY KEY, role "Role" NOT NULL DEFAULT 'USER');
INSERT INTO "User" VALUES (1, 'ROOT'), (2, 'STAFF');
-- migration
BEGIN;
UPDATE "User" SET role = 'STAFF' WHERE role = 'ROOT';
CREATE TYPE "Role_new" AS ENUM ('USER', 'STAFF');
ALTER TABLE "User" ALTER COLUMN "role" DROP DEFAULT;
ALTER TABLE "User" ALTER COLUMN "role" TYPE "Role_new" USING ("role"::text::"Role_new");
ALTER TYPE "Role" RENAME TO "Role_old";
ALTER TYPE "Role_new" RENAME TO "Role";
DROP TYPE "Role_old";
ALTER TABLE "User" ALTER COLUMN "role" SET DEFAULT 'USER';
COMMIT;
-- after
INSERT INTO "User" (id) VALUES (3);
