/** The findings of the doctor for people. */
import type { AgentOutlook, AgentReport, ProbeReport, Repair } from '@caisson/engine';
import { formatSize } from '@caisson/protocol';
import { line, type Lines, type Style } from './painted.ts';
import { wrapText } from './wrap-text.ts';

export function formatRepairs(repaired: readonly Repair[], style: Style): Lines {
  const marks = { ok: style.green('repaired'), fail: style.red('NOT REPAIRED') };
  return repaired.map(({ verdict, id, detail }) => line`${marks[verdict]}  ${id}  ${detail}`);
}

/** Long findings are wrapped below their text. */
export function formatReport(probes: readonly ProbeReport[], style: Style, columns: number): Lines {
  const marks = { ok: style.green('ok  '), warn: style.yellow('warn'), fail: style.red('FAIL') };
  const width = Math.max(...probes.map(({ id }) => id.length));
  const indent = ' '.repeat(width + 8);
  const wrap = (text: string): string[] => wrapText(text, Math.max(20, columns - indent.length));
  return probes.flatMap((probe) => {
    const { id, verdict, outcome, detail, lines = [], remedy, repair } = probe;
    const [first = '', ...rest] = wrap(`${outcome === undefined ? '' : `${outcome}: `}${detail}`);
    const facts = 'agent' in probe ? describeAgent((probe as AgentReport).agent).flatMap(wrap) : [];
    const advice = [repair, remedy].flatMap((text) => (text === undefined ? [] : wrap(text)));
    return [
      line`${marks[verdict]}  ${id.padEnd(width)}  ${first}`,
      ...[...rest, ...lines.flatMap(wrap), ...facts].map((text) => line`${indent}${text}`),
      ...advice.map((text) => line`${indent}${style.dim(text)}`),
    ];
  });
}

const PER_CALL: Readonly<Record<string, string>> = {
  hook: 'it asks our gate before each call',
  'permission-request': 'it asks our gate before each call',
  'own-settings': 'its own settings decide about its calls',
  'sandbox only': 'the sandbox alone limits its calls',
};

/** What a run would use. One that is refused only has its refusal. */
function describeAgent({
  refusal,
  uses,
  model,
  endpoint,
  grant,
  perCall,
  unenforced = [],
}: AgentOutlook): string[] {
  if (refusal !== null || grant === undefined) return [];
  const address = endpoint === null || endpoint === undefined ? '' : `, at ${endpoint}`;
  const gate = perCall === undefined ? '' : `; ${PER_CALL[perCall] ?? perCall}`;
  return [
    `uses ${uses ?? ''}`,
    `model ${model === undefined || model === '' ? 'of its own choice' : model}${address}`,
    `mode ${grant.mode}${gate}`,
    `sandbox ${grant.sandbox}, ${describeHosts(grant)}, ${describeLimits(grant, unenforced)}`,
  ];
}

type Grant = NonNullable<AgentOutlook['grant']>;

function describeHosts({ hosts }: Grant): string {
  if (hosts.includes('*')) return 'all of the network';
  return hosts.length === 0 ? 'no network but its model' : `network ${hosts.join(', ')}`;
}

function describeLimits({ limits }: Grant, unenforced: readonly string[]): string {
  const { memory, cpus, pids, disk } = limits;
  const rows = {
    memory: memory === undefined ? undefined : formatSize(memory),
    cpus,
    pids,
    disk: disk === undefined ? undefined : formatSize(disk),
  };
  const set = Object.entries(rows).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value}${unenforced.includes(name) ? ' (not enforced here)' : ''}`],
  );
  return set.length === 0 ? 'no limits' : set.join(', ');
}
