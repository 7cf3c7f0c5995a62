import type { Job } from '@caisson/protocol';

/** The user prompt of the agent: the task, then scope and acceptance, then a person's answer. */
export function describeTask(job: Job, user: string): string {
  const { task, answer } = job;
  const parts = [user];
  if (task.scope.length > 0) parts.push(`Only change files that match: ${task.scope.join(', ')}`);
  if (task.acceptance !== undefined) parts.push(`The task is done when: ${task.acceptance}`);
  if (answer !== undefined) parts.push(describeAnswer(answer));
  return parts.join('\n\n');
}

function describeAnswer(answer: NonNullable<Job['answer']>): string {
  const lines = ['Earlier you stopped and asked a question.', `Question: ${answer.question}`];
  if (answer.options !== undefined) lines.push(`Options: ${answer.options.join(' | ')}`);
  if (answer.context !== undefined) lines.push(`Your context: ${JSON.stringify(answer.context)}`);
  if (answer.partialState !== undefined)
    lines.push(`State you saved: ${JSON.stringify(answer.partialState)}`);
  lines.push(`Answer: ${answer.answer}`, 'Continue the task from there.');
  return lines.join('\n');
}
