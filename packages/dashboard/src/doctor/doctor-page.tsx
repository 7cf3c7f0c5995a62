import { useApp } from '../live/app-context.ts';
import { useAnswer } from '../live/use-answer.ts';
import { Badge } from '../ui/status-badge.tsx';
import { Loading, ProblemNotice } from '../ui/notices.tsx';
import type { DoctorReport, Probe } from '../api/answers.ts';

const TONES = { ok: 'ok', warn: 'wait', fail: 'bad' } as const;
const ORDER = ['fail', 'warn', 'ok'];

export function DoctorPage() {
  const { client } = useApp();
  const { value, problem, reload } = useAnswer('doctor', (signal) =>
    client.get<DoctorReport>('/v1/doctor', {}, signal),
  );
  return (
    <div className="page">
      <div className="spread">
        <h1>Doctor</h1>
        <button type="button" onClick={reload}>
          Check again
        </button>
      </div>
      <p className="faint">
        What a run needs on this machine, and whether the records are whole.{' '}
        <code>caisson doctor --repair</code> fixes what can be fixed.
      </p>
      <ProblemNotice problem={problem} />
      {value === null && problem === null ? <Loading what="the report; it reads the whole ledger" /> : null}
      <ul className="cards probes">
        {(value?.probes ?? [])
          .toSorted((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict))
          .map((probe) => (
            <ProbeCard key={probe.id} probe={probe} />
          ))}
      </ul>
    </div>
  );
}

function ProbeCard({
  probe: { id, verdict, outcome, detail, remedy, repair, findings = [] },
}: {
  probe: Probe;
}) {
  return (
    <li className="card probe">
      <div className="card-head">
        <Badge tone={TONES[verdict]}>{outcome === undefined ? verdict : `${verdict} · ${outcome}`}</Badge>
        <h2>{id}</h2>
      </div>
      <p>{detail}</p>
      {findings.length === 0 ? null : (
        <ul className="small">
          {findings.slice(0, 50).map((finding) => (
            <li key={finding}>{finding}</li>
          ))}
        </ul>
      )}
      {[repair, remedy].map((text) =>
        text === undefined ? null : (
          <p key={text} className="faint">
            {text}
          </p>
        ),
      )}
    </li>
  );
}
