import type { EventEnvelope } from '@caisson/protocol';
import { useState } from 'react';
import type { Verification } from '../api/answers.ts';
import { useApp } from '../live/app-context.ts';
import { useAction } from '../live/use-action.ts';
import { DataTable, type Column } from '../ui/data-table.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatTime } from '../ui/format.ts';
import { EmptyState, Notice, ProblemNotice } from '../ui/notices.tsx';
import { Section } from '../ui/section.tsx';
import { Badge } from '../ui/status-badge.tsx';
import { saveBlob } from './save-blob.ts';

const TONES = { ok: 'ok', failed: 'bad', missing: 'wait', 'not-applicable': 'quiet' } as const;
const WORDS: Readonly<Record<Verification['outcome'], string>> = {
  ok: 'Everything is as it was sealed.',
  tampered: 'Something was changed after it was sealed.',
  unsealed: 'This run has no seal.',
  incomplete: 'Something that belongs to it is missing.',
  'bad-signature': 'The signature does not fit.',
  'no-key': 'The key that signed it is not known here.',
};

export function EvidenceTab({ runId, events }: { runId: string; events: readonly EventEnvelope[] }) {
  const { client } = useApp();
  const action = useAction();
  const [verification, setVerification] = useState<Verification | null>(null);
  const verify = async () =>
    setVerification(await client.send<Verification>('POST', `/v1/runs/${runId}/verify`));
  const save = async () =>
    saveBlob(
      await new Response(await client.open(`/v1/runs/${runId}/export`)).blob(),
      `${runId}.caisson.tar`,
    );
  return (
    <Section title="Evidence">
      <Seal events={events} runId={runId} />
      <div className="actions">
        <button
          type="button"
          className="primary"
          disabled={action.isBusy}
          onClick={() => void action.run(verify)}
        >
          Verify
        </button>
        <button type="button" disabled={action.isBusy} onClick={() => void action.run(save)}>
          Export
        </button>
        <span className="faint small">
          Another person can check the exported file with <code>caisson verify</code>.
        </span>
      </div>
      <ProblemNotice problem={action.problem} />
      {verification === null ? null : <Verdict verification={verification} />}
    </Section>
  );
}

function Seal({ events, runId }: { events: readonly EventEnvelope[]; runId: string }) {
  const seal = events.findLast((event) => event.type === 'evidence.sealed');
  if (seal?.type !== 'evidence.sealed')
    return (
      <EmptyState title="Not sealed yet">
        <p>A run is sealed after it has ended. If that failed:</p>
        <pre className="command">caisson seal {runId}</pre>
      </EmptyState>
    );
  return (
    <Facts
      facts={[
        ['Sealed', formatTime(seal.at)],
        ['Number in the chain', seal.chain?.number],
        ['Key', <code key="key">{seal.keyId}</code>],
        ['Manifest', <code key="manifest">{seal.manifestRef}</code>],
      ]}
    />
  );
}

function Verdict({ verification: { outcome, checks, keyId } }: { verification: Verification }) {
  const columns: Column<Verification['checks'][number]>[] = [
    { title: 'Check', cell: ({ id }) => id },
    { title: 'Verdict', cell: ({ verdict }) => <Badge tone={TONES[verdict]}>{verdict}</Badge> },
    { title: 'Detail', cell: ({ detail }) => detail },
  ];
  return (
    <>
      <Notice
        tone={outcome === 'ok' ? 'ok' : outcome === 'unsealed' || outcome === 'no-key' ? 'wait' : 'bad'}
      >
        <p>
          <strong>{outcome}</strong>: {WORDS[outcome]}
          {keyId === null ? '' : ` Signed with ${keyId}.`}
        </p>
      </Notice>
      <DataTable label="Checks" columns={columns} rows={checks} keyOf={({ id }) => id} />
    </>
  );
}
