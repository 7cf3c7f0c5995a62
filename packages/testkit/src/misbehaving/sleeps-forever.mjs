// Starts, says so, and never does anything again.
process.stdout.write('asleep\n');
setInterval(() => {}, 60_000);
