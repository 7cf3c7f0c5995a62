/** Lists of the host: each answer is a page, and `Link` names the next one. */

/** More rows are never put together for one page of the dashboard. */
export const MAX_LISTED = 20_000;

export interface Listed<T> {
  readonly rows: readonly T[];
  /** The host has more than this. */
  readonly isMore: boolean;
}

export async function* readPages<T>(
  ask: (path: string) => Promise<Response>,
  first: string,
): AsyncGenerator<readonly T[], void, void> {
  for (let path: string | null = first; path !== null;) {
    const response = await ask(path);
    path = findNext(response);
    yield (await response.json()) as readonly T[];
  }
}

export async function gatherPages<T>(pages: AsyncIterable<readonly T[]>): Promise<Listed<T>> {
  const rows: T[] = [];
  for await (const page of pages) {
    rows.push(...page);
    if (rows.length > MAX_LISTED) return { rows: rows.slice(0, MAX_LISTED), isMore: true };
  }
  return { rows, isMore: false };
}

/** The address of the next page; only ever one of this host. */
function findNext({ headers }: Response): string | null {
  return /<(\/v1\/[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;
}
