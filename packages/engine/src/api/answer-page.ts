/** One page of a list, with the address of the next one (A6). */
import type { Call } from './read-input.ts';
import type { PageRule } from './define-operation.ts';

interface Given {
  readonly limit?: number | undefined;
}

export async function answerPage(
  context: Call,
  { rows, maxRows, cursorOf }: PageRule,
  given: Given,
  read: (given: Given) => Promise<readonly unknown[]>,
): Promise<Response> {
  const limit = Math.min(given.limit ?? rows, maxRows);
  const found = await read({ ...given, limit: limit + 1 }); // one more says whether there is another page
  const page = found.slice(0, limit);
  const last = page.at(-1);
  if (last !== undefined && found.length > limit)
    context.header('link', `<${nextOf(context, limit, cursorOf(last as never))}>; rel="next"`);
  return context.json(page);
}

function nextOf(context: Call, limit: number, cursor: string | number): string {
  const { pathname, searchParams } = new URL(context.req.url);
  searchParams.set('limit', String(limit));
  searchParams.set('after', String(cursor));
  return `${pathname}?${searchParams.toString()}`;
}
