import type { QuestionRow } from '@caisson/engine';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { printable, printableText } from '../printable.ts';
import { withCaissonToRead } from '../with-caisson.ts';

export const command = defineCommand({
  usage: '[--all]',
  about: 'Agents that cannot go on leave a question; their run waits until somebody answers.',
  options: { all: { type: 'boolean', summary: 'also answered and expired ones' } },
  examples: [{ line: 'caisson questions', says: 'Who waits for an answer, and for what.' }],
  run: ({ options, output }) =>
    withCaissonToRead(options['state-dir'], output, async (caisson) => {
      const questions = await caisson.questions(options.all ? {} : { status: 'open' });
      output.result(questions, () =>
        questions.length === 0 ? 'No open questions.' : questions.map(describe).join('\n\n'),
      );
      return EXIT_CODES.finished;
    }),
});

/** Everything here but the ids was written by an agent. */
function describe(question: QuestionRow): string {
  const lines = [
    `${question.questionId}  ${question.status}  ${question.runId}`,
    ...indent(printableText(question.text)),
    ...(question.options ?? []).map((option) => `  - ${printable(String(option))}`),
    ...describeContext(question.context),
  ];
  if (question.deadlineAt !== undefined && question.status === 'open')
    lines.push(`  until ${question.deadlineAt}`);
  if (question.status === 'open') lines.push(`  caisson answer ${question.runId} "…"`);
  return lines.join('\n');
}

function describeContext(context: unknown): string[] {
  if (context === undefined) return [];
  const text = typeof context === 'string' ? context : JSON.stringify(context);
  return ['  context:', ...indent(printableText(text), '    ')];
}

function indent(text: string, by = '  '): string[] {
  return text.split('\n').map((line) => by + line);
}
