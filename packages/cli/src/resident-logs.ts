/** What residents print: `caisson senses logs` and `caisson workflows logs`. */
import { defineCommand, type Command, type Example } from './command.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { UsageError } from './usage-error.ts';
import { withCaissonToRead } from './with-caisson.ts';

/** The same for a sense, a workflow and a key: `who` names what it is asked for with. */
export function defineLogs(who: string, example: Example): Command {
  return defineCommand({
    usage: `${who} [-f] [--raw]`,
    about:
      'What its code logged and printed, with that of the others in its group: they share a process. Escaped on a terminal,\n' +
      'unless --raw. caisson logs -f --all shows the events of everything.',
    options: {
      follow: {
        type: 'boolean',
        short: 'f',
        summary: 'go on with what it prints, until Ctrl-C; not with -o json',
      },
      raw: { type: 'boolean', summary: 'let the terminal interpret what it printed' },
    },
    positionals: { min: 1, max: 1 },
    examples: [example],
    async run({ options, positionals, output }) {
      const { format } = output;
      if (format === 'json' && options.follow)
        throw new UsageError('-o json prints one value at the end, and -f has no end', {
          remedy: 'Use -o ndjson.',
        });
      return withCaissonToRead(options['state-dir'], output, async ({ residents }) => {
        const how = { follow: options.follow, signal: output.closed };
        const decoder = new TextDecoder(); // a piece may end within a character
        const all: string[] = [];
        const print = (log: string): void => {
          if (format === 'json') all.push(log);
          else if (log !== '') output.event({ log });
        };
        for await (const chunk of residents.logs(positionals[0] ?? '', how)) {
          if (format === 'human') output.copy(chunk, { isRaw: options.raw });
          else print(decoder.decode(chunk, { stream: true }));
        }
        if (format !== 'human') print(decoder.decode());
        if (format === 'json') output.result({ log: all.join('') }, () => []);
        return EXIT_CODES.finished;
      });
    },
  });
}
