import type { Call } from './inspector.ts';
import { marksOfFile } from './secret-flow.ts';

/** A secret that is copied is one under its new name as well, be that a file or a folder to put it in. */
export function followCopy(source: string, target: string, { inspector }: Call): void {
  const marks = marksOfFile(source, inspector.files);
  if (marks === '') return;
  inspector.files.mark(target, marks);
  inspector.files.mark(`${target.replace(/\/$/, '')}/${source.replace(/.*\//, '')}`, marks);
}
