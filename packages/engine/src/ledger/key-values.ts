import { canonicalJson } from './canonical-json.ts';
import type { KeyValues } from './contract.ts';
import type { WorkingRows } from './storage.ts';

type InTransaction = <T>(work: () => T) => T;

export function createKeyValues(
  rows: WorkingRows,
  reading: InTransaction,
  writing: InTransaction,
): KeyValues {
  return {
    get: (space, key) => {
      const text = reading(() => rows.value(space, key));
      return text === null ? undefined : (JSON.parse(text) as unknown);
    },
    set: (space, key, value) => {
      const text = canonicalJson(value);
      writing(() => rows.putValue(space, key, text));
    },
    delete: (space, key) => writing(() => rows.deleteValue(space, key)),
    list: (space) =>
      reading(() => rows.values(space)).map(({ key, text }) => ({ key, value: JSON.parse(text) as unknown })),
  };
}
