import type { QuestionRow } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { separate, textLines, type Line, type Lines } from '../painted.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--all]',
  about:
    'An agent that cannot continue writes its question into .caisson/needs_input.json and stops: { "question", "options",\n' +
    '"context", "partial_state" }, all but the first optional. Its run ends with dispatch.needs_input and exit code 3, and\n' +
    'has the status waiting until caisson answer.',
  options: { all: { type: 'boolean', summary: 'also answered and expired ones' } },
  examples: [{ line: 'caisson questions', says: 'Which runs wait for an answer, and to which question.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const questions = await caisson.questions(options.all ? {} : { status: 'open' });
      output.result(questions, () =>
        questions.length === 0 ? ['No open questions.'] : separate(questions.map(describe)),
      );
      return EXIT_CODES.finished;
    }),
});

/** Everything here except the ids was written by an agent. */
function describe(question: QuestionRow): Lines {
  const lines: Line[] = [
    `${question.questionId}  ${question.status}  ${question.runId}`,
    ...textLines(question.text, '  '),
    ...(question.options ?? []).map((option) => `  - ${String(option)}`),
    ...describeContext(question.context),
  ];
  if (question.deadlineAt !== undefined && question.status === 'open')
    lines.push(`  until ${question.deadlineAt}`);
  if (question.status === 'open') lines.push(`  caisson answer ${question.runId} "…"`);
  return lines;
}

function describeContext(context: unknown): Line[] {
  if (context === undefined) return [];
  const text = typeof context === 'string' ? context : JSON.stringify(context);
  return ['  context:', ...textLines(text, '    ')];
}
