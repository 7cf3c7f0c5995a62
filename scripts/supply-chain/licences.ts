/** Which licences may come in. The list for what a build can contain is shorter than that for the tools. */
import { listLockedPackages, listReached, type LockEntries, type LockedPackage } from './lock-file.ts';

const SHIPPED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense',
]);
const TOOLS: ReadonlySet<string> = new Set([...SHIPPED, 'MPL-2.0']);

/** Packages whose package.json has no SPDX id, and what their own files say. */
const STATED_ELSEWHERE: Readonly<Record<string, string>> = {
  'busboy@0.3.1': 'MIT',
  'dicer@0.3.0': 'MIT',
  'humanize-number@0.0.2': 'MIT',
  'only@0.0.2': 'MIT',
  'streamsearch@0.1.2': 'MIT',
};

/** Rooms and programs that end up in the published package. */
const OURS = ['cli', 'engine', 'ground', 'policy', 'protocol', 'worker'].map((name) => `packages/${name}`);

export interface LicensedPackage extends LockedPackage {
  /** The SPDX id that is relied on; null where there is none. */
  readonly licence: string | null;
  /** It can be part of a build; otherwise it is a tool of this repository. */
  readonly canShip: boolean;
}

export function listLicences(entries: LockEntries): LicensedPackage[] {
  const shipped = listReached(entries, OURS);
  return listLockedPackages(entries).map((found) => {
    const canShip = shipped.has(found.path);
    return { ...found, canShip, licence: chooseLicence(found, canShip ? SHIPPED : TOOLS) };
  });
}

/** Packages without an allowed licence, one sentence each. */
export function findLicenceProblems(entries: LockEntries): string[] {
  return listLicences(entries)
    .filter(({ licence }) => licence === null)
    .map(
      ({ name, version, license, canShip }) =>
        `${name}@${version} has the licence ${license ?? '(none)'}, which is not allowed for ${canShip ? 'what is shipped' : 'a tool'}`,
    );
}

/** Of `(A OR B)` the first that is allowed; of `A AND B` all have to be. */
function chooseLicence(
  { name, version, license }: LockedPackage,
  allowed: ReadonlySet<string>,
): string | null {
  const stated = license ?? STATED_ELSEWHERE[`${name}@${version}`] ?? '';
  const choices = stated.replaceAll(/[()]/g, '').split(' OR ');
  return choices.find((choice) => choice.split(' AND ').every((id) => allowed.has(id))) ?? null;
}
