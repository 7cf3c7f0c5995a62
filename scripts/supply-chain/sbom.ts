/** A CycloneDX 1.6 bill of materials: what the build took in, what it needs beside it, and with what it was made. */
import { createHash } from 'node:crypto';
import { listLicences, type LicensedPackage } from './licences.ts';
import { listReached, listUsed, type LockEntries } from './lock-file.ts';

export interface SbomInput {
  readonly entries: LockEntries;
  /** Places in the tree whose code is in the bundles. */
  readonly bundled: ReadonlySet<string>;
}

/** The published package; all that it depends on is installed with it. */
const PRODUCT = 'packages/cli';

/** The same lock file and the same bundles always give the same bytes: there is no time and no random number in it. */
export function createSbom({ entries, bundled }: SbomInput): object {
  const product = entries[PRODUCT] ?? {};
  const installed = listReached(
    entries,
    Object.keys(product.dependencies ?? {}).map((name) => `node_modules/${name}`),
  );
  const contained = (path: string): boolean => bundled.has(path) || installed.has(path);
  const packages = listLicences(entries);
  const refs = new Map(packages.map((found) => [found.path, refOf(found)]));
  const direct = packages.filter(({ path }) => contained(path)).map((found) => refOf(found));
  const components = packages.map((found) => describeComponent(found, contained(found.path)));
  const digest = createHash('sha256').update(JSON.stringify(components)).digest('hex');
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${toUuid(digest)}`,
    version: 1,
    metadata: { component: describeProduct(product.name ?? '', product.version ?? '', product.license) },
    components,
    dependencies: [
      { ref: productRef(product.name ?? '', product.version ?? ''), dependsOn: direct },
      ...packages.map(({ path }) => ({
        ref: refs.get(path),
        dependsOn: [...new Set(listUsed(entries, path))].flatMap((used) => refs.get(used) ?? []),
      })),
    ],
  };
}

function describeProduct(name: string, version: string, license: string | undefined): object {
  return {
    type: 'application',
    'bom-ref': productRef(name, version),
    name,
    version,
    ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
  };
}

/** Tools are listed too, as `excluded`: they are not in the build, and they had it in their hands. */
function describeComponent(found: LicensedPackage, isContained: boolean): object {
  const { name, version, licence, integrity = '', path } = found;
  const scopeEnd = name.startsWith('@') ? name.indexOf('/') : -1;
  return {
    type: 'library',
    'bom-ref': refOf(found),
    ...(scopeEnd === -1 ? {} : { group: name.slice(0, scopeEnd) }),
    name: name.slice(scopeEnd + 1),
    version,
    scope: isContained ? (found.optional === true ? 'optional' : 'required') : 'excluded',
    purl: purlOf(name, version),
    hashes: [
      { alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') },
    ],
    ...(licence === null ? {} : { licenses: [{ license: { id: licence } }] }),
    properties: [{ name: 'cdx:npm:package:path', value: path }],
  };
}

/** The same package can be in several places, and each is a component of its own. */
function refOf({ name, version, path }: LicensedPackage): string {
  return `${purlOf(name, version)}#${path}`;
}

function productRef(name: string, version: string): string {
  return purlOf(name, version);
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${encodeURIComponent(version)}`;
}

/** A digest in the form of a UUID (version 8, made by a rule of one's own). */
function toUuid(hex: string): string {
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
