import { Badge } from '../ui/status-badge.tsx';

const TONES: Readonly<Record<string, string>> = {
  ...{ ready: 'ok', running: 'run', starting: 'run', draining: 'wait', waiting: 'wait' },
  ...{ blocked: 'bad', unloadable: 'bad', failed: 'bad', timeout: 'bad', finished: 'ok', done: 'ok' },
};

export function StateBadge({ state }: { state: string }) {
  return <Badge tone={TONES[state] ?? 'quiet'}>{state}</Badge>;
}
