// Waits for the end of its stdin and says how much came.
let bytes = 0;
for await (const chunk of process.stdin) bytes += chunk.length;
process.stdout.write(`${JSON.stringify({ stdinBytes: bytes })}\n`);
