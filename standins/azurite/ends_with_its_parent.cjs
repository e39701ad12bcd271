// Whoever started this holds the other end of its input: when that process dies, however, so does
// this one.
process.stdin.on("end", () => process.exit()).resume();
