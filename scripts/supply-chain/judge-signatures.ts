/** What `npm audit signatures --json` found. A machine that cannot ask is no failure, and never a pass either. */
export type SignatureVerdict =
  | { readonly kind: 'good' }
  | { readonly kind: 'bad'; readonly packages: readonly string[] }
  | { readonly kind: 'not-checked'; readonly reason: string };

/** Answers that say nothing about a package: no network, or a registry that publishes no keys. */
const CANNOT_ASK =
  /^(ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ENET\w+|EHOSTUNREACH|E40[0-9]|E5\d\d|ENOLOCK|ERR_SOCKET_TIMEOUT)$/;

interface Reported {
  readonly name?: string;
  readonly version?: string;
}

export function judgeSignatures(status: number | null, stdout: string): SignatureVerdict {
  const report = parseReport(stdout);
  if (report === null) return { kind: 'not-checked', reason: 'npm gave no answer in time' };
  const { code = '', summary = '' } = report.error ?? {};
  if (CANNOT_ASK.test(code)) return { kind: 'not-checked', reason: code };
  if (/no dependencies to audit|supported registry/i.test(summary))
    return { kind: 'not-checked', reason: 'the registry publishes no signing keys' };
  const packages = [...(report.invalid ?? []), ...(report.missing ?? [])].map(
    ({ name = '?', version = '?' }) => `${name}@${version}`,
  );
  if (packages.length > 0 || status !== 0)
    return { kind: 'bad', packages: packages.length > 0 ? packages : [summary || code || 'unknown'] };
  return { kind: 'good' };
}

function parseReport(stdout: string): {
  readonly invalid?: readonly Reported[];
  readonly missing?: readonly Reported[];
  readonly error?: { readonly code?: string; readonly summary?: string };
} | null {
  try {
    return JSON.parse(stdout) as object;
  } catch {
    return null;
  }
}
