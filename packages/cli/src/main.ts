import { COMMANDS } from './command-table.ts';
import { printableLines } from './printable.ts';
import { runCli } from './run-cli.ts';

// Node would print an uncaught error, and Node escapes nothing.
process.on('uncaughtException', (error: unknown) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`internal error: ${printableLines(text).join('\n')}\n`);
  process.exit(1);
});

void runCli(process.argv.slice(2), COMMANDS, process).then(async (code) => {
  await Promise.all([written(process.stdout), written(process.stderr)]);
  // A file that could not be written reports it only now.
  await new Promise((resolve) => setImmediate(resolve));
  // A finished command needs nothing that is still open, and closing it one by one takes time.
  process.exit(process.exitCode ?? code);
});

/** Resolves when all output has been delivered, also to a reader that is slow or gone. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write('', () => resolve());
    stream.once('close', resolve);
  });
}
