import { listLicences, type LicensedPackage } from '../supply-chain/licences.ts';
import { readLockFile } from '../supply-chain/lock-file.ts';

/** The reference page of the licences of everything in the lock file. */
export function describeLicences(root: string): string {
  const all = listLicences(readLockFile(root));
  return [
    '# Licences',
    '',
    'Everything in the lock file, by licence. `npm run check` refuses a licence that is not on the list in',
    '`scripts/supply-chain/licences.ts`. What a build really contains is in `sbom.cdx.json` beside it.',
    '',
    '## What a build can contain',
    '',
    ...describeGroup(all.filter(({ canShip }) => canShip)),
    '## Tools of this repository',
    '',
    ...describeGroup(all.filter(({ canShip }) => !canShip)),
  ].join('\n');
}

function describeGroup(packages: readonly LicensedPackage[]): string[] {
  const byLicence = Map.groupBy(packages, ({ licence }) => licence ?? 'not allowed');
  return [...byLicence]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([licence, group]) => {
      const names = [...new Set(group.map(({ name, version }) => `${name}@${version}`))];
      return [`### ${licence}`, '', ...names.map((name) => `- ${name}`), ''];
    });
}
