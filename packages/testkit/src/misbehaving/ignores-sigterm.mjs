// Takes SIGTERM, SIGINT and SIGHUP, says so, and stays.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'])
  process.on(name, () => process.stdout.write(`ignored ${name}\n`));
process.stdout.write('ready\n');
setInterval(() => {}, 60_000);
