// Takes memory in steps of 16 MiB, touched so that it is real, up to MAX MiB (first argument, default 4096), then stays.
const maxMiB = Number(process.argv[2] ?? 4096);
const held = [];
const step = () => {
  if (held.length * 16 >= maxMiB) return;
  held.push(Buffer.alloc(16 << 20, 1));
  process.stdout.write(`holding ${held.length * 16} MiB\n`);
  setImmediate(step);
};
step();
setInterval(() => held.length, 60_000);
