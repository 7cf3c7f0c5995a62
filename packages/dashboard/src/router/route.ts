/** The addresses of the pages. The host answers each of them with the same document. */
export type Route =
  | { readonly page: PlainPage }
  | { readonly page: 'run'; readonly runId: string; readonly tab: RunTab }
  | { readonly page: 'missing' };

export const RUN_TABS = ['overview', 'timeline', 'log', 'diff', 'evidence'] as const;
export type RunTab = (typeof RUN_TABS)[number];

const PLAIN = {
  '': 'inbox',
  runs: 'runs',
  costs: 'costs',
  residents: 'residents',
  pool: 'pool',
  doctor: 'doctor',
} as const;
type PlainPage = (typeof PLAIN)[keyof typeof PLAIN];

export function parseRoute(pathname: string): Route {
  const [first = '', second = '', third = '', ...rest] = pathname.split('/').slice(1).map(decodePart);
  if (rest.length > 0) return { page: 'missing' };
  if (first === 'runs' && second !== '') return parseRun(second, third);
  if (second !== '' || third !== '' || !Object.hasOwn(PLAIN, first)) return { page: 'missing' };
  return { page: PLAIN[first as keyof typeof PLAIN] };
}

function parseRun(runId: string, tab: string): Route {
  if (tab === '') return { page: 'run', runId, tab: 'overview' };
  const known = RUN_TABS.find((name) => name === tab);
  return known === undefined ? { page: 'missing' } : { page: 'run', runId, tab: known };
}

export function runPath(runId: string, tab: RunTab = 'overview'): string {
  const base = `/runs/${encodeURIComponent(runId)}`;
  return tab === 'overview' ? base : `${base}/${tab}`;
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
