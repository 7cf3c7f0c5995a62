import type { ReactNode } from 'react';

export type Fact = readonly [name: string, value: ReactNode];

/** Names with values. A value that is undefined is left out; what is unknown says so itself. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
