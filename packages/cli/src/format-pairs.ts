import { line, textLines, type Lines, type Style } from './painted.ts';

const NAME_COLUMNS = 9;

/** A value beside each name; one of several lines goes on below its first. What has none is left out. */
export function formatPairs(
  pairs: Readonly<Record<string, string | undefined>>,
  { bold }: Pick<Style, 'bold'>,
): Lines {
  return Object.entries(pairs).flatMap(([name, value]) =>
    value === undefined || value === ''
      ? []
      : textLines(value).map(
          (text, index) => line`${bold((index === 0 ? name : '').padEnd(NAME_COLUMNS))} ${text}`,
        ),
  );
}
