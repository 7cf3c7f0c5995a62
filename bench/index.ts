/** Every bench by the name it is asked for. Loaded only when it is run, so one can be missing while others work. */
export const BENCH_MODULES: Readonly<Record<string, string>> = {
  bus: './bus.ts',
  codec: './codec.ts',
  ledger: './ledger.ts',
  store: './store.ts',
  evidence: './evidence.ts',
  workspace: './workspace.ts',
  folders: './folders.ts',
  dispatch: './dispatch.ts',
  sandbox: './sandbox.ts',
  agents: './agents.ts',
  coordination: './coordination.ts',
  policy: './policy.ts',
  trust: './trust.ts',
  footprint: './footprint.ts',
  streaming: './streaming.ts',
  'read-model': './read-model.ts',
};
