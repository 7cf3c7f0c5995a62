import { useState } from 'react';
import { showControls } from '../ui/agent-text.tsx';
import { EmptyState, ProblemNotice } from '../ui/notices.tsx';
import { VirtualRows } from '../ui/virtual-rows.tsx';
import type { LogLine } from './log-buffer.ts';
import { classOf, parseAnsi } from './parse-ansi.ts';
import { useLog } from './use-log.ts';

const NAMES = ['stdout', 'stderr'] as const;

export function LogTab({ runId }: { runId: string }) {
  const [name, setName] = useState<string>('stdout');
  const [isFollowing, setIsFollowing] = useState(true);
  return (
    <>
      <div className="spread">
        <div className="actions" role="group" aria-label="Which output">
          {NAMES.map((each) => (
            <button key={each} type="button" aria-pressed={each === name} onClick={() => setName(each)}>
              {each}
            </button>
          ))}
        </div>
        <label className="check">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={(event) => setIsFollowing(event.target.checked)}
          />
          Follow the end
        </label>
      </div>
      <LogLines key={`${runId}:${name}`} runId={runId} name={name} isFollowing={isFollowing} />
    </>
  );
}

function LogLines({ runId, name, isFollowing }: { runId: string; name: string; isFollowing: boolean }) {
  const { lines, droppedLines, isOpen, problem } = useLog(runId, name);
  if (lines.length === 0)
    return (
      <>
        <ProblemNotice problem={problem} />
        <EmptyState title={isOpen ? 'Nothing was printed yet' : 'Nothing was printed'}>
          <p>What the agent writes to {name} appears here. In a terminal:</p>
          <pre className="command">caisson logs {runId} -f</pre>
        </EmptyState>
      </>
    );
  return (
    <>
      <ProblemNotice problem={problem} />
      {droppedLines === 0 ? null : (
        <p className="faint small" role="status">
          The first {droppedLines.toLocaleString('en-US')} lines are not kept here. <code>caisson logs</code>{' '}
          has all.
        </p>
      )}
      <VirtualRows
        count={lines.length}
        rowPx={20}
        label={`Log of ${name}`}
        className="log"
        followsEnd={isFollowing}
        renderRow={(index) => (
          <Line key={index + droppedLines} number={index + droppedLines + 1} line={lines[index]} />
        )}
      />
    </>
  );
}

function Line({ number, line }: { number: number; line: LogLine | undefined }) {
  if (line === undefined) return null;
  return (
    <div className="log-line">
      <span className="line-number" aria-hidden="true">
        {number}
      </span>
      {parseAnsi(line.text, line.start).spans.map(({ text, style }, index) => (
        <span key={index} className={classOf(style)}>
          {showControls(text)}
        </span>
      ))}
    </div>
  );
}
