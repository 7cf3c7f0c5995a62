import type { EventEnvelope } from '@caisson/protocol';
import { useMemo, useState } from 'react';
import { AgentText, showControls } from '../ui/agent-text.tsx';
import { firstLine, formatMs } from '../ui/format.ts';
import { EmptyState } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { useNow } from '../ui/use-now.ts';
import { VirtualRows } from '../ui/virtual-rows.tsx';
import { buildTimeline, type Bar, type Timeline } from './build-timeline.ts';
import { TimelinePicture } from './timeline-picture.tsx';

export function TimelineTab({ events, isEnded }: { events: readonly EventEnvelope[]; isEnded: boolean }) {
  const now = useNow(isEnded ? 3_600_000 : 1000);
  const timeline = useMemo(() => buildTimeline(events, now), [events, now]);
  const [chosen, setChosen] = useState<Bar | null>(null);
  if (timeline.bars.length === 0)
    return (
      <EmptyState title="Nothing has happened yet">
        {<p>Phases, model calls and tools appear as they come.</p>}
      </EmptyState>
    );
  return (
    <>
      <Section title="Timeline">
        <TimelinePicture timeline={timeline} onChoose={setChosen} />
        {chosen === null ? null : <ChosenBar bar={chosen} />}
      </Section>
      <BarList timeline={timeline} onChoose={setChosen} />
    </>
  );
}

function ChosenBar({ bar }: { bar: Bar }) {
  return (
    <div className="chosen-bar" role="status">
      <p>
        <strong>{showControls(firstLine(bar.label))}</strong>{' '}
        <span className="faint">
          {formatMs(bar.endMs - bar.startMs)}
          {bar.isOpen === true ? ', under way' : ''}
        </span>
      </p>
      {bar.detail === '' ? null : <AgentText text={bar.detail} label="Detail" />}
    </div>
  );
}

/** The same in words, for everyone who does not see the picture. */
function BarList({ timeline, onChoose }: { timeline: Timeline; onChoose: (bar: Bar) => void }) {
  const bars = useMemo(() => timeline.bars.toSorted((a, b) => a.startMs - b.startMs), [timeline.bars]);
  const renderRow = (index: number) => {
    const bar = bars[index];
    if (bar === undefined) return null;
    return (
      <button key={index} type="button" className="quiet bar-row" onClick={() => onChoose(bar)}>
        <span className="number">{formatMs(bar.startMs - timeline.startMs)}</span>
        <span className="faint">{bar.lane}</span>
        <span className="cut">{showControls(`${firstLine(bar.label)} ${firstLine(bar.detail)}`)}</span>
        <span className="number">{formatMs(bar.endMs - bar.startMs)}</span>
      </button>
    );
  };
  return (
    <VirtualRows
      count={bars.length}
      rowPx={32}
      label="All parts"
      className="bar-rows"
      renderRow={renderRow}
    />
  );
}
