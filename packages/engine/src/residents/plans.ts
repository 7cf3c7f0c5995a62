/** What settings and files make: one plan for each group of senses and each workflow, and the files that it depends on. */
import { createHash } from 'node:crypto';
import type { ResidentGrant, ResidentPlan, ResidentSettings } from './contract.ts';
import { keyOfGroup } from './sense-entry.ts';
import { shortDigest } from './short-digest.ts';
import { readSources } from './source-files.ts';

export interface ComposedPlan {
  readonly plan: ResidentPlan;
  /** Absolute. */
  readonly files: readonly string[];
}

export const keyOfWorkflow = (workflow: string): string => `workflow.${workflow}`;

type Draft = Omit<ResidentPlan, 'digest'>;

/** Timeouts, intervals and triggers are the host's: a change of them replaces no worker. */
export async function composePlans(
  root: string,
  settings: ResidentSettings,
): Promise<readonly ComposedPlan[]> {
  return Promise.all(draftPlans(settings).map((draft) => finish(root, draft)));
}

function draftPlans({ senses, workflows }: ResidentSettings): Draft[] {
  const writable = [...new Set([...senses, ...workflows].flatMap(({ grant }) => grant.write))].sort();
  const groups = Map.groupBy(senses, ({ group }) => group);
  const ofSenses = [...groups].map(([group, members]): Draft => ({
    key: keyOfGroup(group),
    kind: 'senses',
    modules: members.map(({ name, file }) => ({ name, file })),
    grant: members.map(({ grant }) => grant).reduce(joinGrants),
    writable,
  }));
  const ofWorkflows = workflows.map(({ name, file, grant }): Draft => {
    const modules = [{ name, file }];
    return { key: keyOfWorkflow(name), kind: 'workflow', modules, grant, writable };
  });
  return [...ofSenses, ...ofWorkflows];
}

/** Senses of one group share a sandbox, so it allows what each of them asked for. */
function joinGrants(one: ResidentGrant, other: ResidentGrant): ResidentGrant {
  const join = (name: 'read' | 'write' | 'hosts'): string[] => [...new Set([...one[name], ...other[name]])];
  const larger = (name: 'memory' | 'pids' | 'disk'): number => Math.max(one.limits[name], other.limits[name]);
  const cpus =
    one.limits.cpus === undefined || other.limits.cpus === undefined
      ? undefined
      : Math.max(one.limits.cpus, other.limits.cpus);
  const limits = { memory: larger('memory'), pids: larger('pids'), disk: larger('disk'), cpus };
  return { ...one, read: join('read'), write: join('write'), hosts: join('hosts'), limits };
}

async function finish(root: string, draft: Draft): Promise<ComposedPlan> {
  const sources = await Promise.all(draft.modules.map(({ file }) => readSources(root, file)));
  const byPath = new Map(sources.flat().map((source) => [source.path, source]));
  const lines = [JSON.stringify(draft)];
  for (const [path, { content }] of [...byPath].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const digest = content === null ? 'none' : createHash('sha256').update(content).digest('hex');
    lines.push(`${JSON.stringify(path)} ${digest}`);
  }
  const { key, kind, modules, grant, writable } = draft;
  const digest = shortDigest(lines.join('\n'));
  return { plan: { key, kind, modules, grant, writable, digest }, files: [...byPath.keys()] };
}
