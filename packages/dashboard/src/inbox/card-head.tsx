import type { ReactNode } from 'react';
import { Link } from '../router/link.tsx';
import { formatAgo } from '../ui/format.ts';
import { useNow } from '../ui/use-now.ts';
import type { Place } from './inbox-items.ts';

interface HeadProps {
  readonly badge: ReactNode;
  readonly place: Place;
  readonly at?: string | undefined;
  readonly children: ReactNode;
}

export function CardHead({ badge, place, at, children }: HeadProps) {
  const now = useNow(10_000);
  return (
    <div className="card-head">
      {badge}
      <h2>{children}</h2>
      <span className="faint card-place">
        <Link to={place.path}>{place.name}</Link>
        {at === undefined ? null : (
          <>
            {' '}
            · <time dateTime={at}>{formatAgo(at, now)}</time>
          </>
        )}
      </span>
    </div>
  );
}
