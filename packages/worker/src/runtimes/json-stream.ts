// What the streams of all programs have in common: one JSON event a line, gathered in one record.

import { createDriftReporter, createRecord, resolveEnding, type AgentRecord } from './agent-record.ts';
import type { AgentExit, AgentSignal, AgentStream } from './contract.ts';
import { parseJsonLine, textOf, type Json } from './json-line.ts';

export interface EventReader {
  /** Reads one event of the program; `null` for one of an unknown type. */
  read(event: Json, type: string): readonly AgentSignal[] | null;
  /** What the exit adds to the record before the ending is resolved. */
  exited?(exit: AgentExit): void;
}

/** The stream of a program that prints JSON lines with a `type`. What is not understood is reported once, as drift. */
export function createJsonStream(createReader: (record: AgentRecord) => EventReader): AgentStream {
  const record = createRecord();
  const drift = createDriftReporter();
  const reader = createReader(record);
  return {
    line: (text) => {
      if (text.trim() === '') return [];
      const event = parseJsonLine(text);
      record.isCutOff = event === null && text.startsWith('{');
      if (event === null) return drift('a line that is not JSON');
      const type = textOf(event.type);
      const unknown: AgentSignal = { kind: 'drift', detail: `unknown event "${type}"` };
      const signals = reader.read(event, type) ?? [unknown];
      return signals.flatMap((signal) => (signal.kind === 'drift' ? drift(signal.detail) : [signal]));
    },
    end: (exit) => {
      reader.exited?.(exit);
      return resolveEnding(record, exit);
    },
  };
}
