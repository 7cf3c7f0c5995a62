/** `state` of the user's code. */
import type { SenseState } from '@caisson/protocol';
import { InvalidUse } from './checked-json.ts';
import type { GroupDatabase, SqlValue } from './group-database.ts';

const { stringify, parse } = JSON;

/** What needs no transaction. A `WITH` may write, and so may a pragma: not one that asks for a list, or for a value alone. */
const READS = /^\s*(?:select|values|explain)\b/i;
const READ_PRAGMA =
  /^\s*pragma\s+(?:\w+\s*\.\s*)?(?:\w+_(?:x?info|list|check)\b|(?!optimize|incremental_vacuum|wal_checkpoint)\w+\s*;?\s*$)/i;
const ENDS_TRANSACTION = /^\s*(?:begin|commit|end|rollback|savepoint|release)\b/i;

export function createSenseState(database: GroupDatabase): SenseState {
  return {
    get<T>(key: string): T | undefined {
      const [row] = database.read('SELECT value FROM caisson_state WHERE key = ?', key);
      return row === undefined ? undefined : (parse(String(row['value'])) as T);
    },
    set(key, value) {
      const text: string | undefined = stringify(value);
      if (text === undefined) throw new InvalidUse(`the value of "${key}" cannot be written as JSON`);
      database.write(
        'INSERT INTO caisson_state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
        key,
        text,
      );
    },
    delete: (key) => void database.write('DELETE FROM caisson_state WHERE key = ?', key),
    run(sql, ...values: SqlValue[]) {
      if (isWriting(sql)) return { changes: database.write(sql, ...values) };
      database.read(sql, ...values);
      return { changes: 0 };
    },
    all: <Row>(sql: string, ...values: SqlValue[]) =>
      (isWriting(sql) ? database.writeAndRead(sql, ...values) : database.read(sql, ...values)) as Row[],
    transaction: (work) => database.transaction(work),
  };
}

function isWriting(sql: string): boolean {
  if (READS.test(sql) || READ_PRAGMA.test(sql)) return false;
  if (ENDS_TRANSACTION.test(sql))
    throw new InvalidUse('a compute is one transaction: use state.transaction for a part of it');
  return true;
}
