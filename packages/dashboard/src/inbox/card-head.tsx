import type { ReactNode } from 'react';
import { Link } from '../router/link.tsx';
import { runPath } from '../router/route.ts';
import { formatAgo, shortId } from '../ui/format.ts';
import { useNow } from '../ui/use-now.ts';

interface HeadProps {
  readonly badge: ReactNode;
  readonly runId: string;
  readonly at: string;
  readonly children: ReactNode;
}

export function CardHead({ badge, runId, at, children }: HeadProps) {
  const now = useNow(10_000);
  return (
    <div className="card-head">
      {badge}
      <h2>{children}</h2>
      <span className="faint card-place">
        <Link to={runPath(runId)}>{shortId(runId)}</Link> · <time dateTime={at}>{formatAgo(at, now)}</time>
      </span>
    </div>
  );
}
