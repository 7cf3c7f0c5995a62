// One line without an end: MiB after MiB (first argument, default 8) and never a newline. Stays afterwards.
const totalMiB = Number(process.argv[2] ?? 8);
const block = Buffer.alloc(1 << 20, 'a');
let written = 0;
const write = () => {
  while (written < totalMiB) {
    written += 1;
    if (!process.stdout.write(block)) return void process.stdout.once('drain', write);
  }
};
write();
setInterval(() => {}, 60_000);
