import { showControls } from '../ui/agent-text.tsx';
import { firstLine } from '../ui/format.ts';
import { Badge } from '../ui/status-badge.tsx';
import { ChoiceBox } from './choice-box.tsx';
import { fileState, isHunkChosen, type Choice } from './choice.ts';
import type { LineComment } from './comments.ts';
import { placeOf, type DiffRow } from './diff-rows.ts';
import { findLanguage, highlightLine } from './highlight-line.ts';
import type { PatchFile, PatchHunk, PatchLine } from './parse-patch.ts';

export interface DiffDeeds {
  toggleOpen(file: PatchFile): void;
  toggleFile(file: PatchFile): void;
  toggleHunk(file: PatchFile, hunk: number): void;
  comment(place: Omit<LineComment, 'text'>): void;
}

interface RowProps {
  readonly row: DiffRow;
  readonly choice: Choice;
  readonly deeds: DiffDeeds;
}

export function DiffRowView({ row, choice, deeds }: RowProps) {
  switch (row.kind) {
    case 'file':
      return <FileRow file={row.file} isOpen={row.isOpen} choice={choice} deeds={deeds} />;
    case 'hunk':
      return <HunkRow file={row.file} hunk={row.hunk} choice={choice} deeds={deeds} />;
    case 'line':
      return <LineRow file={row.file} line={row.line} deeds={deeds} />;
    case 'comment':
      return (
        <button type="button" className="diff-row diff-comment" onClick={() => deeds.comment(row.comment)}>
          Your comment: {firstLine(row.comment.text)}
        </button>
      );
    case 'remark':
      return <div className="diff-row diff-remark faint">{showControls(row.text)}</div>;
  }
}

interface FileRowProps {
  readonly file: PatchFile;
  readonly isOpen: boolean;
  readonly choice: Choice;
  readonly deeds: DiffDeeds;
}

function FileRow({ file, isOpen, choice, deeds }: FileRowProps) {
  const name = showControls(file.path);
  return (
    <div className="diff-row diff-file">
      <ChoiceBox
        state={fileState(choice, file.path)}
        label={`Take ${name}`}
        onToggle={() => deeds.toggleFile(file)}
      />
      <button
        type="button"
        className="quiet cut"
        aria-expanded={isOpen}
        onClick={() => deeds.toggleOpen(file)}
      >
        <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> <span className="cut">{name}</span>
      </button>
      {file.change === 'changed' ? null : <Badge tone="quiet">{file.change}</Badge>}
      <span className="added-count">+{file.added}</span>
      <span className="removed-count">−{file.removed}</span>
    </div>
  );
}

function HunkRow({ file, hunk, choice, deeds }: Omit<FileRowProps, 'isOpen'> & { hunk: PatchHunk }) {
  return (
    <div className="diff-row diff-hunk">
      <ChoiceBox
        state={isHunkChosen(choice, file.path, hunk.number) ? 'all' : 'none'}
        label={`Take part ${hunk.number} of ${showControls(file.path)}`}
        onToggle={() => deeds.toggleHunk(file, hunk.number)}
      />
      <code>{showControls(firstLine(hunk.header))}</code>
    </div>
  );
}

const SIGNS = { added: '+', removed: '−', context: ' ', note: '\\' } as const;

function LineRow({ file, line, deeds }: { file: PatchFile; line: PatchLine; deeds: DiffDeeds }) {
  const place = placeOf(file, line);
  return (
    <div className={`diff-row diff-line line-${line.kind}`}>
      <span className="line-number">{line.oldNumber ?? ''}</span>
      <span className="line-number">{line.newNumber ?? ''}</span>
      {place === null ? (
        <span className="comment-button" />
      ) : (
        <button
          type="button"
          className="quiet comment-button"
          aria-label={`Comment on line ${place.line}`}
          onClick={() => deeds.comment(place)}
        >
          +
        </button>
      )}
      <span className="sign">{SIGNS[line.kind]}</span>
      <code>
        {highlightLine(line.text, findLanguage(file.path)).map(({ kind, text }, index) => (
          <span key={index} className={`word-${kind}`}>
            {showControls(text)}
          </span>
        ))}
      </code>
    </div>
  );
}
