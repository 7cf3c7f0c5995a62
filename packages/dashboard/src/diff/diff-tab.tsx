import { useMemo, useState } from 'react';
import type { ListedRun } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAnswer } from '../live/use-answer.ts';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { showControls } from '../ui/agent-text.tsx';
import { shortId } from '../ui/format.ts';
import { EmptyState, Loading, Notice, ProblemNotice } from '../ui/notices.tsx';
import { VirtualRows } from '../ui/virtual-rows.tsx';
import { ApplyPanel } from './apply-panel.tsx';
import { CommentDialog } from './comment-dialog.tsx';
import { chooseAll, toggleFile, toggleHunk } from './choice.ts';
import { commentKey, setComment, type Comments, type LineComment } from './comments.ts';
import type { Doubt } from './doubts.ts';
import { DiffRowView, type DiffDeeds } from './diff-row.tsx';
import { findOpenAtFirst, toDiffRows } from './diff-rows.ts';
import { parsePatch, type PatchFile } from './parse-patch.ts';
import { SendComments } from './send-comments.tsx';

interface DiffTabProps {
  readonly runId: string;
  readonly task: string;
  readonly isEnded: boolean;
  readonly doubts: readonly Doubt[];
  readonly appliedAt?: string | undefined;
  /** The run whose work it goes on with. */
  readonly continues?: string | undefined;
}

export function DiffTab(props: DiffTabProps) {
  const { runId, isEnded } = props;
  const { client } = useApp();
  const { value, problem } = useAnswer(`patch:${runId}:${isEnded}`, async (signal) =>
    isEnded
      ? parsePatch(await new Response(await client.open(`/v1/runs/${runId}/patch`, {}, signal)).text())
      : [],
  );
  if (!isEnded) return <NoDiffYet continues={props.continues} />;
  if (problem !== null) return <ProblemNotice problem={problem} />;
  if (value === null) return <Loading what="the diff" />;
  if (value.length === 0)
    return (
      <EmptyState title="The run changed nothing">
        <p>Its answer is in the overview. In a terminal:</p>
        <pre className="command">caisson show {runId}</pre>
      </EmptyState>
    );
  return <Diff key={runId} {...props} files={value} />;
}

function NoDiffYet({ continues }: { continues: string | undefined }) {
  return (
    <EmptyState title="There is no diff yet">
      <p>
        The patch of a run is taken when it ends. Until then the log shows what the agent does, and{' '}
        <b>Message…</b> reaches it.
      </p>
      {continues === undefined ? null : (
        <p>
          It goes on with the work of <Link to={runPath(continues, 'diff')}>{shortId(continues)}</Link>:
          comments on that diff can be sent to it.
        </p>
      )}
    </EmptyState>
  );
}

/** The run under way that goes on with the work of this one; null for none. */
function useFollower(runId: string): string | null {
  const { client } = useApp();
  const { value } = useAnswer(
    `follower:${runId}`,
    (signal) =>
      client.get<ListedRun[]>(
        '/v1/runs',
        { continues: runId, status: 'running', newestFirst: true, limit: 1 },
        signal,
      ),
    ({ type }) => /^(dispatch|attempt)\./.test(type),
  );
  return value?.[0]?.runId ?? null;
}

function Diff({ files, runId, task, doubts, appliedAt }: DiffTabProps & { files: readonly PatchFile[] }) {
  const follower = useFollower(runId);
  const [choice, setChoice] = useState(() => chooseAll(files));
  const [open, setOpen] = useState(() => findOpenAtFirst(files));
  const [comments, setComments] = useState<Comments>(new Map());
  const [place, setPlace] = useState<Omit<LineComment, 'text'> | null>(null);
  const rows = useMemo(() => toDiffRows(files, open, comments), [files, open, comments]);
  const deeds: DiffDeeds = {
    toggleOpen: ({ path }) => setOpen((before) => toggled(before, path)),
    toggleFile: (file) => setChoice((before) => toggleFile(before, file)),
    toggleHunk: (file, hunk) => setChoice((before) => toggleHunk(before, file, hunk)),
    comment: setPlace,
  };
  return (
    <>
      <DoubtsNotice runId={runId} doubts={doubts} />
      <ApplyPanel runId={runId} files={files} choice={choice} appliedAt={appliedAt} onChoose={setChoice} />
      <SendComments
        runId={runId}
        task={task}
        follower={follower}
        comments={comments}
        onSent={() => setComments(new Map())}
      />
      <VirtualRows
        count={rows.length}
        rowPx={24}
        label="Diff"
        className="diff"
        renderRow={(index) => {
          const row = rows[index];
          return row === undefined ? null : (
            <DiffRowView key={index} row={row} choice={choice} deeds={deeds} />
          );
        }}
      />
      {place === null ? null : (
        <CommentDialog
          place={place}
          text={comments.get(commentKey(place))?.text ?? ''}
          onKeep={(text) => setComments((before) => setComment(before, { ...place, text }))}
          onClose={() => setPlace(null)}
        />
      )}
    </>
  );
}

/** Read before the diff, not only when it is applied. */
function DoubtsNotice({ runId, doubts }: { runId: string; doubts: readonly Doubt[] }) {
  if (doubts.length === 0) return null;
  return (
    <Notice tone="wait">
      {doubts.map((doubt) =>
        doubt.kind === 'check-failed' ? (
          <p key={doubt.kind}>
            The check of this work failed: <Link to={runPath(runId)}>its report</Link> is in the overview.
          </p>
        ) : (
          <p key={doubt.kind}>
            The run worked on <code>{showControls(doubt.remote)}</code>, not on the files here.
          </p>
        ),
      )}
    </Notice>
  );
}

function toggled(set: ReadonlySet<string>, member: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(member)) next.add(member);
  return next;
}
