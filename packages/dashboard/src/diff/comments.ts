/** Remarks on lines of a diff, collected until they are sent. */
export interface LineComment {
  readonly path: string;
  /** Of the new file; of the old one for a removed line. */
  readonly line: number;
  readonly side: 'new' | 'old';
  readonly code: string;
  readonly text: string;
}

export type Comments = ReadonlyMap<string, LineComment>;

export function commentKey({ path, line, side }: Pick<LineComment, 'path' | 'line' | 'side'>): string {
  return `${side}:${line}:${path}`;
}

/** An empty text removes the comment. */
export function setComment(comments: Comments, comment: LineComment): Comments {
  const next = new Map(comments);
  if (comment.text.trim() === '') next.delete(commentKey(comment));
  else next.set(commentKey(comment), comment);
  return next;
}

/** The message that an agent gets: place, code and remark, file by file. */
export function describeComments(comments: Comments): string {
  const remarks = [...comments.values()].toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  return [
    'Comments on your changes. Address each of them.',
    ...remarks.map(({ path, line, side, code, text }) => {
      const place = side === 'new' ? `${path}:${line}` : `${path}:${line} (removed line)`;
      return `${place}\n> ${code.trim().slice(0, 300)}\n${text.trim()}`;
    }),
  ].join('\n\n');
}
