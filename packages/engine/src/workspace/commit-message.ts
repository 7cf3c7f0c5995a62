/** What a commit of ours says: what was asked for, and which run made it. */
import type { PreparedWorkspace } from './contract.ts';

const MAX_TITLE_CHARACTERS = 72;
/** What a terminal, or another reader of a log, would obey instead of showing. */
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The first line of a task, as the title of a commit; undefined where it has none. */
export function titleOf(task: string): string | undefined {
  const lines = task.split(/[\r\n\u2028\u2029]+/).map((line) => line.replaceAll(OBEYED, ' ').trim());
  const characters = [...(lines.find((line) => line !== '') ?? '')];
  if (characters.length === 0) return undefined;
  if (characters.length <= MAX_TITLE_CHARACTERS) return characters.join('');
  return `${characters
    .slice(0, MAX_TITLE_CHARACTERS - 1)
    .join('')
    .trimEnd()}…`;
}

/** The same for the same attempt, whichever process makes the commit: branch-ref.ts compares them. */
export function messageOf({
  runId,
  attempt,
  title,
}: Pick<PreparedWorkspace, 'runId' | 'attempt' | 'title'>): string {
  const made = `caisson: ${runId}, attempt ${attempt}\n`;
  return title === undefined ? made : `${title}\n\n${made}`;
}
