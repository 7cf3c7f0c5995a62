/** What a run printed and prints, in a buffer of limited size. */
import { useEffect, useRef, useState } from 'react';
import { useApp } from '../live/app-context.ts';
import { asProblem, type ProblemError } from '../api/problem.ts';
import { LogBuffer, type LogLine } from './log-buffer.ts';

/** New lines are drawn this often. */
const DRAW_MS = 100;
const RETRY_MS = 2000;

export interface LogView {
  readonly lines: readonly LogLine[];
  readonly droppedLines: number;
  readonly isOpen: boolean;
  readonly problem: ProblemError | null;
}

const NOTHING: LogView = { lines: [], droppedLines: 0, isOpen: true, problem: null };

export function useLog(runId: string, name: string): LogView {
  const { client } = useApp();
  const [view, setView] = useState<LogView>(NOTHING);
  const [round, setRound] = useState(0);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    const buffer = new LogBuffer();
    const draw = (changes: Partial<LogView>) => {
      timer.current = null;
      const { lines, droppedLines } = buffer;
      if (!gone.signal.aborted) setView((before) => ({ ...before, lines, droppedLines, ...changes }));
    };
    const read = async () => {
      const stream = await client.open(`/v1/runs/${runId}/logs/${name}/live`, {}, gone.signal);
      for await (const text of readText(stream)) {
        buffer.push(text);
        timer.current ??= setTimeout(() => draw({ problem: null }), DRAW_MS);
      }
      draw({ isOpen: false, problem: null });
    };
    read().catch((error: unknown) => {
      draw({ problem: asProblem(error) });
      if (asProblem(error).status === 0)
        timer.current = setTimeout(() => setRound((before) => before + 1), RETRY_MS);
    });
    return () => {
      gone.abort();
      if (timer.current !== null) clearTimeout(timer.current);
      timer.current = null;
    };
  }, [client, runId, name, round]);
  return view;
}

async function* readText(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  for (let next = await reader.read(); !next.done; next = await reader.read())
    yield decoder.decode(next.value, { stream: true });
}
