/** What a person means by the name of a resident. */
import type { ResolvedConfig } from '../config/index.ts';
import { ResidentNotFoundError } from './resident-errors.ts';

type Declared = Pick<ResolvedConfig, 'senses' | 'workflows'>;

/** The key of a key itself, a sense, a group or a workflow. */
export function findResidentKey({ senses, workflows }: Declared, given: string): string {
  const groups = Object.values(senses).map(({ group }) => group);
  const keys = [
    ...new Set(groups.map((group) => `senses.${group}`)),
    ...Object.keys(workflows).map((name) => `workflow.${name}`),
  ];
  const group = senses[given]?.group ?? given;
  const key = [given, `senses.${group}`, `workflow.${given}`].find((one) => keys.includes(one));
  if (key === undefined) throw new ResidentNotFoundError('resident', given, keys);
  return key;
}

export function requireSense({ senses }: Declared, given: string): void {
  if (!Object.hasOwn(senses, given)) throw new ResidentNotFoundError('sense', given, Object.keys(senses));
}

export function requireWorkflow({ workflows }: Declared, given: string): void {
  if (!Object.hasOwn(workflows, given))
    throw new ResidentNotFoundError('workflow', given, Object.keys(workflows));
}
