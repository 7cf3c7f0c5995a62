import type { ReactNode } from 'react';

export interface Column<T> {
  readonly title: string;
  readonly isNumber?: boolean;
  cell(row: T): ReactNode;
}

interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  keyOf(row: T): string;
}

/** A short table; one that is too wide scrolls by itself. */
export function DataTable<T>({ label, columns, rows, keyOf }: DataTableProps<T>) {
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" className={isNumber === true ? 'number' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, isNumber, cell }) => (
                <td key={title} className={isNumber === true ? 'number' : ''}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
