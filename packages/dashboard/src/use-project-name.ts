import type { DaemonStatus } from '@caisson/protocol';
import { useApp } from './live/app-context.ts';
import { useAnswer } from './live/use-answer.ts';
import { showControls } from './ui/agent-text.tsx';

/** The folder of the project: pages of two projects look the same. Empty until it is known. */
export function useProjectName(): string {
  const { client } = useApp();
  const { value } = useAnswer('project', (signal) => client.get<DaemonStatus>('/v1/status', {}, signal));
  return showControls(value?.projectRoot.split('/').findLast((part) => part !== '') ?? '');
}
