/** What `caisson init` found, for people. */
import type { ProjectInspection } from '@caisson/engine';
import { line, type Lines, type Style } from './painted.ts';
import { wrapText } from './wrap-text.ts';

const LABEL_COLUMNS = 10;

export function formatFound(found: ProjectInspection, style: Style, columns: number): Lines {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['project', [describeProject(found)]],
    ['tests', [found.repository.tests ?? 'none found']],
    ['agents', describeAgents(found)],
    ['sandbox', describeSandbox(found)],
  ];
  const wrap = (text: string): string[] => wrapText(text, Math.max(20, columns - LABEL_COLUMNS));
  return rows.flatMap(([label, texts]) =>
    texts.flatMap(wrap).map((text, index) => {
      const name = (index === 0 ? label : '').padEnd(LABEL_COLUMNS);
      return line`${style.bold(name)}${text}`;
    }),
  );
}

function describeProject({ repository }: ProjectInspection): string {
  const { isGit, languages, packageManager, packageCount } = repository;
  const kind = languages.length === 0 ? 'no language that is known here' : languages.join(', ');
  const manager = packageManager === null ? '' : `, with ${packageManager}`;
  const packages = packageCount === 0 ? '' : `, a monorepo of ${packageCount} packages`;
  const place = isGit
    ? 'in git: each run gets its own worktree'
    : 'not in git: a run changes the files in place';
  return `${kind}${manager}${packages}; ${place}`;
}

function describeAgents({ usual, agents }: ProjectInspection): string[] {
  const rows = agents.map(({ agent: { runtime, version, uses, refusal } }) => {
    const name = `${runtime}${version === null ? '' : ` ${version}`}`;
    return refusal === null
      ? `${name} uses ${uses ?? ''}`
      : `${name} is refused: ${refusal.detail}. ${refusal.remedy ?? ''}`.trim();
  });
  return rows.length === 0 ? [`none found. ${usual.remedy ?? ''}`] : rows;
}

function describeSandbox({ sandbox }: ProjectInspection): string[] {
  const bad = sandbox.filter(({ verdict }) => verdict !== 'ok');
  if (bad.length === 0) return ['works, with limits on memory, cpus and processes'];
  return bad.map(({ id, detail, remedy }) => `${id}: ${detail}. ${remedy ?? ''}`.trim());
}

/** The command that a person would type now. */
export function describeNext(
  { repository, agents, usual }: ProjectInspection,
  runtime: string | null,
  { isSaid }: { readonly isSaid: boolean },
): Lines {
  const { tests } = repository;
  const isReady =
    runtime === null
      ? usual.refusal === null
      : agents.some(({ agent }) => agent.runtime === runtime && agent.refusal === null);
  if (isSaid) return isReady ? [] : ['So that an agent can work here: caisson doctor'];
  if (!isReady)
    return [`Next: ${agents.length === 0 ? `caisson run -- ${tests ?? 'CMD'}` : 'caisson doctor'}`];
  return [`Next: caisson run "fix the flaky test"${tests === null ? '' : ` --verify "${tests}"`}`];
}
