-- Prisma: a table with rows of its own.
-- before
CREATE TABLE "Post" (id int PRIMARY KEY);
INSERT INTO "Post" VALUES (1);
-- migration
CREATE TABLE "Comment" (
  "id" SERIAL NOT NULL, "postId" INTEGER NOT NULL, "text" TEXT, "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "Comment_pkey" PRIMARY KEY ("id"));
ALTER TABLE "Comment" ADD CONSTRAINT "Comment_postId_fkey" FOREIGN KEY ("postId") REFERENCES "Post" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;
INSERT INTO "Comment" ("postId", "text") VALUES (1, 'seed');
-- after
INSERT INTO "Comment" ("postId", "text") VALUES (1, 'first');
UPDATE "Post" SET id = 2;
