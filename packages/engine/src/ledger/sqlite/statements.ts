import type Database from 'better-sqlite3';

/** One prepared statement per text, prepared when first used: opening must stay cheap. */
export class Statements {
  readonly #db: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  run(sql: string, ...values: unknown[]): number {
    return this.prepared(sql).run(...values).changes;
  }

  get<T>(sql: string, ...values: unknown[]): T | undefined {
    return this.prepared(sql).get(...values) as T | undefined;
  }

  all<T>(sql: string, ...values: unknown[]): T[] {
    return this.prepared(sql).all(...values) as T[];
  }

  /** One row after the other. Nothing can be written before the last one. */
  iterate<T>(sql: string, ...values: unknown[]): IterableIterator<T> {
    return this.prepared(sql).iterate(...values) as IterableIterator<T>;
  }

  /** The first column of the only row. */
  count(sql: string): number {
    return this.prepared(sql).pluck().get() as number;
  }

  /** The statement itself, for the few places where a call per value matters. */
  prepared(sql: string): Database.Statement {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}
