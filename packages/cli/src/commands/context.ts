import { definedOnly } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { printSessions } from '../format-sessions.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--session NAME [KEY]]',
  about: 'Findings that the agents of a session reported, oldest first, each with its source and time.',
  options: {
    session: { type: 'string', value: 'NAME', summary: 'the session, or a run that has none' },
    after: { type: 'string', value: 'SEQ', summary: 'only later findings' },
  },
  positionals: { min: 0, max: 1 },
  examples: [{ line: 'caisson context --session release', says: 'The findings so far.' }],
  run: ({ options, positionals, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const { session } = options;
      if (session === undefined) {
        await printSessions('caisson context', positionals, caisson, output);
        return EXIT_CODES.finished;
      }
      const [key] = positionals;
      const findings = await caisson.sessions.context(session).read({
        ...definedOnly({ key }),
        ...(options.after === undefined ? {} : { after: Number(options.after) }),
      });
      output.result(findings, () =>
        findings.length === 0
          ? ['No findings.']
          : findings.flatMap(({ seq, key: name, value, source, at }) => [
              `${seq}  ${name} = ${JSON.stringify(value)}`,
              `   ${source.agent ?? 'a run'} (${source.runId ?? 'no run'}), ${at}`,
            ]),
      );
      return EXIT_CODES.finished;
    }),
});
