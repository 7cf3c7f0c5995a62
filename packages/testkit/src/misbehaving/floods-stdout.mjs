// Writes MiB after MiB (first argument, default 64), honouring back pressure, then exits 0.
const totalMiB = Number(process.argv[2] ?? 64);
const block = Buffer.from(`${'x'.repeat(127)}\n`.repeat(8192));
let written = 0;
const write = () => {
  while (written < totalMiB) {
    written += 1;
    if (!process.stdout.write(block)) return void process.stdout.once('drain', write);
  }
};
write();
