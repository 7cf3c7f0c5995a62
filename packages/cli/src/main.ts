import { COMMANDS } from './command-table.ts';
import { printableLines } from './printable.ts';
import { runCli } from './run-cli.ts';

// What nobody caught would be printed by Node, and Node escapes nothing.
process.on('uncaughtException', (error: unknown) => {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`internal error: ${printableLines(text).join('\n')}\n`);
  process.exit(1);
});

void runCli(process.argv.slice(2), COMMANDS, process).then(async (code) => {
  await Promise.all([written(process.stdout), written(process.stderr)]);
  // A file that could not take what was printed says so only now.
  await new Promise((resolve) => setImmediate(resolve));
  // What is still open is of no use to a command that is done, and closing it one by one takes time.
  process.exit(process.exitCode ?? code);
});

/** Resolves when all that was printed has been handed over, also to a reader that is slow or gone. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write('', () => resolve());
    stream.once('close', resolve);
  });
}
