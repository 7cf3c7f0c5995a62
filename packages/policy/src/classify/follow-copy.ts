import type { Call } from './inspector.ts';
import { marksOfFile } from './secret-flow.ts';

/** A copy of a secret is a secret under its new name as well; the target is a file or a folder. */
export function followCopy(source: string, target: string, { inspector }: Call): void {
  const marks = marksOfFile(source, inspector.files);
  if (marks === '') return;
  inspector.files.mark(target, marks);
  inspector.files.mark(`${target.replace(/\/$/, '')}/${source.replace(/.*\//, '')}`, marks);
}
